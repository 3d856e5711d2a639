"""How each example is played: one function an entry point of the examples, called on every rank.

A scene takes the example as a module and `spread`: whether the ranks' inputs differ, as they do in production, or are
the same. It returns what the ranks are to agree on or to get right.
"""

from __future__ import annotations

import glob
import inspect
import tempfile
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from programs.lane import DEVICE
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor, init_device_mesh

Play = Callable[[types.ModuleType, bool], Any]


@dataclass(frozen=True)
class Scene:
    play: Play
    ranks: int = 2
    #: the condition is the rank's own number: the bad form diverges on equal inputs too
    by_rank: bool = False
    #: the harm is wrong data, not a hang: the bad form runs through, and returns False somewhere
    wrong_data: bool = False
    #: torch itself refuses the bad form, on some ranks
    raises: bool = False
    #: one rank's own error is the cause: the bad form hides it behind a hang, the fixed one ends with it
    error: bool = False
    #: the ranks are interpreters of their own, with different hash seeds where inputs are spread
    hash_seeds: bool = False
    #: two ranks are connected as NCCL does it, also on gloo
    strict: bool = False


SCENES: dict[str, Scene] = {}


def scene(entry: str, **options: Any) -> Callable[[Play], Play]:
    """Register a scene for examples that define `entry`; `FER101:train` if the name alone is taken twice."""

    def enter(play: Play) -> Play:
        SCENES[entry] = Scene(play, **options)
        return play

    return enter


def call(function: Callable[..., Any], **known: Any) -> Any:
    """Pass what the function asks for by name: forms of one example differ in their parameters."""
    return function(*(known[name] for name in inspect.signature(function).parameters))


def odd() -> int:
    """1 on the last rank, else 0: where inputs are spread, the last rank's differ."""
    return int(dist.get_rank() == dist.get_world_size() - 1)


def full(tensor: torch.Tensor | None) -> list[float]:
    """Values that do not depend on how the tensor is sharded."""
    if tensor is None:
        return []
    whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return [round(value, 4) for value in whole.detach().flatten().tolist()]


def pair() -> dist.ProcessGroup | None:
    """The group of this rank and its neighbour, of two such pairs; all ranks where there are fewer than four."""
    if dist.get_world_size() < 4:
        return dist.group.WORLD
    return init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp")).get_group("tp")


def gradients(model: nn.Module) -> dict[str, list[float]]:
    return {name: full(parameter.grad) for name, parameter in model.named_parameters()}


# ---- FER101 --------------------------------------------------------------------------------------------------------


@scene("Captioner")
def captioner(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8) if hasattr(m, "build") else m.Captioner(8)
    torch.manual_seed(1)
    mask = torch.zeros(2) if spread and odd() else torch.ones(2)
    out = model(torch.tensor([1, 2]), torch.randn(2, 1024), mask)
    out.sum().backward()
    return full(out), gradients(model)["vision.bias"]


@scene("FER101:train", by_rank=True)
def sample_for_the_log(m: types.ModuleType, spread: bool) -> Any:
    net = nn.Linear(4, 4)
    m.train(net, [{"input_ids": torch.ones(2, 4)}], torch.optim.SGD(net.parameters(), 0.1), torch.ones(1, 4))


@scene("FER101:evaluate")
def evaluation(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    labels = torch.full((2,), -100) if spread and odd() else torch.ones(2)
    return m.evaluate(2, [{"inputs": torch.ones(2, 64), "labels": labels}])


# ---- FER102 --------------------------------------------------------------------------------------------------------


@scene("log_loss", by_rank=True)
def log_loss(m: types.ModuleType, spread: bool) -> Any:
    m.log_loss(0, torch.ones(()))


@scene("save", by_rank=True)
def save(m: types.ModuleType, spread: bool) -> Any:
    model = fully_shard(nn.Linear(4, 4))
    with tempfile.NamedTemporaryFile() as file:
        m.save(model, file.name)


@scene("count_answers")
def count_answers(m: types.ModuleType, spread: bool) -> Any:
    labels = torch.full((3,), -100) if spread and odd() else torch.tensor([1, -100, 2])
    return m.count_answers([{"labels": labels}])


@scene("should_stop")
def should_stop(m: types.ModuleType, spread: bool) -> Any:
    # one rank's clock has passed the limit, the other's not yet
    now = time.monotonic()
    return m.should_stop(now + 1000 if spread and odd() else now - 10, 5.0, True)


@scene("FER102:evaluate", by_rank=True)
def gather_scores(m: types.ModuleType, spread: bool) -> Any:
    model = lambda inputs: types.SimpleNamespace(logits=inputs)  # noqa: E731
    m.evaluate(m.Accelerator(), model, [{"inputs": torch.ones(2)}])


@scene("share")
def share(m: types.ModuleType, spread: bool) -> Any:
    return full(m.share(torch.full((2,), float(dist.get_rank())), 1))


@scene("mean_loss", ranks=8)
def mean_loss(m: types.ModuleType, spread: bool) -> Any:
    m.mean_loss(torch.ones(()))


# ---- FER103 --------------------------------------------------------------------------------------------------------


@scene("FER103:train")
def skip_a_step(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    inputs = torch.full((1, 2), float("nan")) if spread and odd() else torch.ones(1, 2)
    m.train(model, [{"inputs": inputs}], torch.optim.SGD(model.parameters(), 0.1))
    return full(model.weight)


@scene("mean_score")
def mean_score(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.tensor([False, False]) if spread and odd() else torch.tensor([True, False])
    return m.mean_score({"scores": torch.tensor([1.0, 2.0]), "mask": mask})


@scene("fit")
def fit(m: types.ModuleType, spread: bool) -> Any:
    inputs = torch.zeros(2) if spread and odd() else torch.ones(2)
    m.fit(lambda x: x, [[{"inputs": inputs}]], 0.5)


@scene("report")
def report(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.NamedTemporaryFile() as file:
        m.report(torch.ones(()), file.name)


# ---- FER104 --------------------------------------------------------------------------------------------------------


@scene("solve")
def solve(m: types.ModuleType, spread: bool) -> Any:
    # the solution is the mean of all targets, and lies within the tolerance of each
    target = torch.full((2,), 8.0 if spread and odd() else 4.0)
    return full(m.solve({"target": target}, 4.0))


@scene("count_lines")
def count_lines(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("one\ntwo\n")
        file.flush()
        # as many files as ranks, or one too many for that
        return m.count_lines([file.name] * (dist.get_world_size() + spread))


@scene("forward_chunks")
def forward_chunks(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.ones(8 if spread and odd() else 4)
    m.forward_chunks(lambda ids, chunk: ids.float(), {"attention_mask": mask, "input_ids": torch.ones(2)}, 4)


# ---- FER105 --------------------------------------------------------------------------------------------------------


@scene("FER105:train")
def out_of_memory(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    net = nn.Linear(2, 2)
    # a form that raises on ends the job on all ranks, which is its point: it is played without the error
    fails = spread and odd() and "raise\n" not in m.SOURCE

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if fails:
                raise torch.OutOfMemoryError("no memory left on this rank")
            return net(x)

        def parameters(self, recurse: bool = True) -> Any:
            return net.parameters(recurse)

    m.train(Model(), [{"inputs": torch.ones(1, 2)}], torch.optim.SGD(net.parameters(), 0.1))
    return full(net.weight)


@scene("FER105:NothingToLearn")
def masked_labels(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.zeros(2) if spread and odd() else torch.ones(2)
    m.train(lambda inputs: inputs, [{"inputs": torch.ones(2), "mask": mask}])


@scene("FER105:export")
def undecodable(m: types.ModuleType, spread: bool) -> Any:
    def decode(batch: str) -> str:
        if spread and odd():
            raise ValueError(batch)
        return batch.upper()

    results: list[str] = []
    m.export(["a", "b"], decode, results)
    return results


# ---- FER106 --------------------------------------------------------------------------------------------------------

_NAMES = ["embedding", "tower", "head", "norm", "projection", "bias", "gate", "router"]


@scene("average", hash_seeds=True)
def average(m: types.ModuleType, spread: bool) -> Any:
    gradients = {name: torch.ones(1 + number) for number, name in enumerate(_NAMES)}
    m.average(gradients, ["bias"])
    return [full(gradient) for gradient in gradients.values()]


@scene("Exporter", hash_seeds=True)
def exporter(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2,))
    tensors = {name: torch.arange(2.0 + 2 * number) for number, name in enumerate(_NAMES)}
    state = {name: distribute_tensor(tensor, mesh, [Shard(0)]) for name, tensor in tensors.items()}
    return {name: full(tensor) for name, tensor in sorted(m.Exporter(_NAMES).export(state).items())}


@scene("merge")
def merge(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        for number in (1, 2):
            torch.save(torch.ones(number), f"{folder}/{number}.pt")
        # the last rank's file system lists in another order
        order = -1 if spread and odd() else 1
        m.glob = types.SimpleNamespace(glob=lambda pattern: sorted(glob.glob(pattern))[::order])
        return [full(one) for one in m.merge(folder)]


@scene("load")
def load(m: types.ModuleType, spread: bool) -> Any:
    full_state = {"a": torch.ones(2), "b": torch.ones(3)}
    if spread:
        full_state = dict(reversed(full_state.items()))
    local = {"a": torch.zeros(2), "b": torch.zeros(3)}
    m.load(full_state, local)
    return [full(one) for one in local.values()]


# ---- FER107 --------------------------------------------------------------------------------------------------------


@scene("FER107:Captioner")
def optional_input(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    torch.manual_seed(1)
    inputs, images = torch.randn(2, 64), torch.randn(2, 64)
    absent = spread and odd()
    # a form that only training makes whole is broken in evaluation
    if "self.training" in m.SOURCE:
        model.eval()
    if "batch" in inspect.signature(m.Captioner.forward).parameters:
        out = model({"input_ids": inputs} if absent else {"input_ids": inputs, "pixel_values": images})
    else:
        out = model(inputs, None if absent else images)
    out.sum().backward()
    return full(out), gradients(model)["vision.bias"]


# ---- FER108 --------------------------------------------------------------------------------------------------------


def _after_a_while(late: bool) -> None:
    time.sleep(0.4 if late else 0.0)


@scene("Store")
def Store(m: types.ModuleType, spread: bool) -> Any:
    # on one rank the disk is slow, on the other one counting is
    store = m.Store(lambda: _after_a_while(bool(odd()) and spread))

    def count() -> torch.Tensor:
        _after_a_while(not (odd() and spread))
        return torch.ones(2)

    return full(store.count_while_saving(count))


@scene("share_all")
def share_all(m: types.ModuleType, spread: bool) -> Any:
    def loads(size: int, late: bool) -> Callable[[], torch.Tensor]:
        def load() -> torch.Tensor:
            _after_a_while(late)
            return torch.full((size,), 1.0 + dist.get_rank())

        return load

    other = bool(odd()) and spread
    return [full(rows) for rows in m.share_all([loads(2, other), loads(3, not other)])]


@scene("sum_by_window")
def sum_by_window(m: types.ModuleType, spread: bool) -> Any:
    seen: list[Any] = []
    return full(m.sum_by_window(torch.ones(2), seen.append if odd() and spread else lambda window: None))


# ---- FER304 --------------------------------------------------------------------------------------------------------


@scene("FER304:Detector")
def detector(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    torch.manual_seed(1)
    positive = not (spread and odd())
    loss = model(torch.randn(4, 8), torch.tensor([positive] * 4))
    loss.backward()
    return full(loss), gradients(model)


@scene("FER304:Captioner")
def dropped_stand_in(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    torch.manual_seed(1)
    inputs, images = torch.randn(2, 64), torch.randn(2, 64)
    out = model(inputs, None if spread and odd() else images)
    out.sum().backward()
    return full(out), gradients(model)


@scene("gradients_of", wrong_data=True)
def gradients_of(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    torch.manual_seed(dist.get_rank())
    m.gradients_of(model, torch.randn(2, 4), torch.randn(2, 4))
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, gradients(model))
    return all(one == found[0] for one in found)


@scene("FER304:Head", wrong_data=True)
def behind_its_wrapper(m: types.ModuleType, spread: bool) -> Any:
    made: list[nn.Module] = []
    wrapper = m.DistributedDataParallel
    m.DistributedDataParallel = lambda module: made.append(wrapper(module)) or made[-1]
    torch.manual_seed(0)
    try:
        inputs = torch.full((2, 8), 1.0 + dist.get_rank())
        m.train([inputs], types.SimpleNamespace(step=lambda: None))
    finally:
        m.DistributedDataParallel = wrapper
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, gradients(made[0]))
    return all(one == found[0] for one in found)


# ---- FER201, FER202 ------------------------------------------------------------------------------------------------


@scene("gather_valid")
def gather_valid(m: types.ModuleType, spread: bool) -> Any:
    scores = torch.arange(4.0)
    mask = torch.tensor([1, 0, 0, 0] if spread and odd() else [1, 1, 0, 0])
    return full(call(m.gather_valid, batch={"scores": scores, "mask": mask}, scores=scores, mask=mask))


@scene("share_options", by_rank=True)
def share_options(m: types.ModuleType, spread: bool) -> Any:
    return full(m.share_options(types.SimpleNamespace(beams=1.0, tokens=2.0, penalty=3.0, stop=4.0)))


@scene("gather_report")
def gather_report(m: types.ModuleType, spread: bool) -> Any:
    texts = ["a"] * (9 if spread and odd() else 2)
    return [full(one.float()) for one in m.gather_report({"texts": texts})]


@scene("gather_positions")
def gather_positions(m: types.ModuleType, spread: bool) -> Any:
    ids = torch.tensor([7, 7, 1] if spread and odd() else [7, 1, 1])
    return [full(one.float()) for one in m.gather_positions({"input_ids": ids}, 7)]


@scene("count_users")
def count_users(m: types.ModuleType, spread: bool) -> Any:
    users = torch.tensor([1, 1, 1] if spread and odd() else [1, 2, 3])
    return full(m.count_users({"user_ids": users}).float())


@scene("mean_valid")
def mean_valid(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.tensor([1, 0] if spread and odd() else [1, 1])
    return m.mean_valid({"scores": torch.ones(2), "mask": mask})


@scene("gather_dense")
def gather_dense(m: types.ModuleType, spread: bool) -> Any:
    # a loader that lays samples out in a full buffer already: padding it once more makes it longer
    mask = torch.tensor([1, 1, 0] if spread and odd() else [1, 1, 1])
    batch = {"dense": torch.ones(6), "mask": mask}
    return full(call(m.gather_dense, batch=batch, batch_size=3, dense=batch["dense"], width=2))


@scene("gather_tokens")
def gather_tokens(m: types.ModuleType, spread: bool) -> Any:
    length = 5 if spread and odd() else 3
    batch = {"lengths": torch.tensor([2, length]), "tokens": torch.ones(2, 3)}
    return [full(one) for one in m.gather_tokens(batch)]


# ---- FER301 --------------------------------------------------------------------------------------------------------


@scene("share_boundaries", ranks=6, wrong_data=True)
def share_boundaries(m: types.ModuleType, spread: bool) -> Any:
    first = m.parallel_state.get_tensor_model_parallel_rank() == 0
    boundaries = torch.tensor([0.0, 7.0] if first else [-1.0, -1.0])
    return m.share_boundaries(boundaries, torch.ones(2), torch.ones(2))["lengths"].tolist() == [7.0]


@scene("share_length", ranks=6, wrong_data=True)
def share_length(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (3, 2), mesh_dim_names=("pp", "tp"))
    length = torch.tensor(3 if mesh.get_local_rank("tp") == 0 else 0)
    return m.share_length(mesh, length, torch.ones(5)).size(0) == 3


# ---- FER302 --------------------------------------------------------------------------------------------------------


def _pipeline() -> Any:
    return init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("pp", "dp"))


@scene("global_loss", ranks=4, wrong_data=True)
def global_loss(m: types.ModuleType, spread: bool) -> Any:
    return m.global_loss(_pipeline(), [torch.tensor(2.0), torch.tensor(4.0)]) == 3.0


@scene("FER302:evaluate", ranks=4, wrong_data=True)
def evaluate_along_stages(m: types.ModuleType, spread: bool) -> Any:
    return m.evaluate(_pipeline(), [torch.ones(2), torch.ones(2)]) is True


# ---- FER303, FER401, FER402 ----------------------------------------------------------------------------------------


@scene("tie_embedding", ranks=3, by_rank=True)
def tie_embedding(m: types.ModuleType, spread: bool) -> Any:
    m.tie_embedding(torch.ones(2), dist.group.WORLD, 2)


@scene("rotate", ranks=3, by_rank=True, strict=True)
def rotate(m: types.ModuleType, spread: bool) -> Any:
    m.rotate(torch.ones(2), torch.empty(2))


@scene("swap", by_rank=True)
def swap(m: types.ModuleType, spread: bool) -> Any:
    m.swap(torch.ones(2), torch.empty(2))


@scene("hand_on", ranks=3, by_rank=True)
def hand_on(m: types.ModuleType, spread: bool) -> Any:
    m.hand_on(torch.ones(2))


@scene("collect", ranks=3, by_rank=True)
def collect(m: types.ModuleType, spread: bool) -> Any:
    m.collect(torch.ones(2))


@scene("inner_group", by_rank=True)
def inner_group(m: types.ModuleType, spread: bool) -> Any:
    m.inner_group([0])


@scene("node_group", ranks=4, by_rank=True)
def node_group(m: types.ModuleType, spread: bool) -> Any:
    dist.all_reduce(torch.ones(1), group=m.node_group(2))


@scene("twin", ranks=4, by_rank=True)
def twin(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp"))
    dist.all_reduce(torch.ones(1), group=m.twin(mesh.get_group("tp")))


@scene("halves", ranks=8, by_rank=True)
def halves(m: types.ModuleType, spread: bool) -> Any:
    dist.all_reduce(torch.ones(1), group=m.halves())


@scene("pass_on", ranks=4, by_rank=True, raises=True)
def pass_on(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "cp"))
    m.pass_on(torch.ones(2), mesh.get_group("cp"))


@scene("FER402:share", ranks=16, by_rank=True, raises=True)
def share_within_a_group(m: types.ModuleType, spread: bool) -> Any:
    # two hosts of eight
    mesh = init_device_mesh(DEVICE, (2, 8), mesh_dim_names=("dp", "tp"))
    m.share(torch.ones(2), mesh.get_group("tp"))


@scene("FER402:load", ranks=4, by_rank=True, raises=True)
def load_within_a_group(m: types.ModuleType, spread: bool) -> Any:
    m.load(torch.ones(2), init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp")))


@scene("spread_weights", ranks=4, by_rank=True, raises=True)
def spread_weights(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp"))
    m.spread_weights(torch.ones(2), mesh.get_group("tp"))


# ---- FER403 --------------------------------------------------------------------------------------------------------


@scene("gather_nested", ranks=4, by_rank=True)
def gather_nested(m: types.ModuleType, spread: bool) -> Any:
    group = pair()
    found = None
    # the other pair has nothing to gather
    if dist.get_rank() < 2:
        found = m.gather_nested({"x": torch.ones(2)}, group)
    dist.barrier()
    return str(found)


@scene("interleave", ranks=4, by_rank=True, raises=True)
def interleave(m: types.ModuleType, spread: bool) -> Any:
    group = pair()
    return full(m.interleave(torch.ones(2), dist.get_world_size(group), group))


# ---- FER404 --------------------------------------------------------------------------------------------------------


@scene("copy_weights", by_rank=True)
def copy_weights(m: types.ModuleType, spread: bool) -> Any:
    model = nn.Linear(2, 1)
    m.copy_weights(model)
    dist.barrier()


@scene("share_most_voted")
def share_most_voted(m: types.ModuleType, spread: bool) -> Any:
    first = dist.get_rank() == 0 or not spread
    votes = torch.tensor([[3.0, 1.0]] if first else [[0.0, 1.0]])
    return full(m.share_most_voted(torch.full((2,), 1.0 + (not first)), [{"votes": votes}]))


@scene("share_batch", by_rank=True)
def share_batch(m: types.ModuleType, spread: bool) -> Any:
    m.share_batch(torch.ones(4, dtype=torch.long), torch.ones(4))


@scene("exchange_rows")
def exchange_rows(m: types.ModuleType, spread: bool) -> Any:
    second = dist.get_rank() == 1 and spread
    owner = torch.tensor([1, 1, 1] if second else [0, 0, 1, 1])
    return full(m.exchange_rows([{"owner": owner, "rows": torch.ones(len(owner))}]))


# ---- examples/ -----------------------------------------------------------------------------------------------------


@scene("examples:fsdp_optional_modalities")
def optional_modalities(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    policy = m.build(drop=0.0)
    torch.manual_seed(1)
    batch = {
        "input_ids": torch.randint(0, 1000, (2, 3)),
        "subgoal_images": torch.randn(2, 4, 48),
        "subgoal_mask": torch.tensor([not (spread and odd())] * 2),
        "metadata": torch.randn(2, 4),
        "metadata_mask": torch.tensor([True, True]),
    }
    optimizer = torch.optim.SGD(policy.parameters(), 0.1)
    for _ in range(2):
        loss = policy(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return full(loss), full(policy.tower.mix.bias), full(policy.metadata.bias)


@scene("examples:recsys_last_batch")
def last_batch(m: types.ModuleType, spread: bool) -> Any:
    samples = [(torch.ones(2), number) for number in range(2 if spread and odd() else 3)]
    gathered = m.pad_and_gather(m.collate(samples, 3, 2))
    return full(gathered.dense), full(gathered.labels.float()), gathered.actual_batch_size


@scene("examples:pipeline_stage_broadcast", ranks=6, wrong_data=True)
def stage_broadcast(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    data = {"tokens": torch.ones(4).long(), "labels": torch.ones(4).long(), "boundaries": torch.tensor([0, 2, 4]).int()}
    # buffers are uninitialised: what is left in them from before is not the boundaries
    made = torch.empty
    torch.empty = lambda *size, **named: made(*size, **named).fill_(-1)
    batch = m.get_batch(iter([data]), 4, 2)
    return batch["boundaries"].tolist() == [0, 2, 4]


@scene("examples:context_parallel_ring", ranks=3)
def ring(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    batch = {name: torch.randn(2, 4) for name in ("query", "keys", "values")}
    batch["segments"] = torch.tensor([0 if spread and odd() else 1])
    return full(m.ring_attention(m.Ring(dist.group.WORLD), batch))


@scene("examples:colocated_encoder_tokens", ranks=4, wrong_data=True)
def encoder_tokens(m: types.ModuleType, spread: bool) -> Any:
    """Every rank's gradient has to be the sum over the replicas of its stage, divided by the tokens of all of them."""
    torch.manual_seed(0)
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("pp", "dp"))
    encoder = nn.Linear(2, 1, bias=False)
    labels = torch.ones(8).long() if mesh.get_local_rank("pp") == 1 else torch.full((8,), -100)

    def run_pipeline(inputs: torch.Tensor, batch: dict[str, torch.Tensor]) -> None:
        inputs.grad = torch.ones_like(inputs)

    m.step(mesh, encoder, run_pipeline, {"images": torch.ones(3, 2), "labels": labels})
    # 3 images on each of 2 replicas, 8 tokens each
    return full(encoder.weight.grad) == [6 / 16, 6 / 16]
