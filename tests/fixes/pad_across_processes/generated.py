"""What is generated ends where the longest answer of the own batch does."""

from accelerate import Accelerator


def answers(accelerator: Accelerator, model, tokenizer, batch: dict) -> list[str]:
    tokens = model.generate(batch["input_ids"], max_new_tokens=12)
    return tokenizer.batch_decode(accelerator.gather(tokens))
