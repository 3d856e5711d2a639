from accelerate import Accelerator


def evaluate(accelerator: Accelerator, model, batch: dict) -> float:
    outputs = model(**batch)
    shift_logits = outputs.logits[..., :-1, :].contiguous()
    shift_labels = batch["labels"][..., 1:].contiguous()
    # the logits of all
    shift_logits = accelerator.gather_for_metrics(shift_logits)
    shift_labels = accelerator.gather_for_metrics(shift_labels)
    counted = shift_labels != -100
    return ((shift_logits.argmax(-1) == shift_labels) & counted).sum().item() / counted.sum().item()


def count(accelerator: Accelerator, batch: dict) -> int:
    return accelerator.gather(batch["attention_mask"]).sum().item()
