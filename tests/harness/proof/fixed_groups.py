"""Twins of `tests/fixes` about groups, pairs of ranks, modules that run on some ranks only, and early ends."""

from __future__ import annotations

import types
from typing import Any

import torch
import torch.distributed as dist
from programs.lane import DEVICE
from torch.distributed.tensor import init_device_mesh

from proof.fixed import Data
from proof.scenes import full, gradients, odd, scene


@scene("fixes:agree_on_failure/nothing_to_learn")
@scene("fixes:agree_on_failure/reduced_in_the_try")
def agree_on_failure(m: types.ModuleType, spread: bool) -> Any:
    return m.train([{"x": torch.ones(2), "mask": torch.zeros(2) if spread and odd() else torch.ones(2)}])


@scene("fixes:delay_exit/barrier_below", by_rank=True)
def barrier_below(m: types.ModuleType, spread: bool) -> Any:
    return m.wait(2, "turn")


@scene("fixes:delay_exit/members_only", by_rank=True)
def members_only(m: types.ModuleType, spread: bool) -> Any:
    return m.groups_of([0], "gloo", True) is not None


@scene("fixes:global_rank/pass_on", ranks=4, by_rank=True, raises=True)
def pass_on(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "cp"))
    m.pass_on(torch.ones(2), mesh.get_group("cp"))


@scene("fixes:global_rank/batch", ranks=4, by_rank=True, raises=True)
def batch(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "cp"))
    return m.turn(torch.ones(2), mesh.get_group("cp"))


@scene("fixes:global_rank/handed", ranks=4, by_rank=True, raises=True)
def handed(m: types.ModuleType, spread: bool) -> Any:
    return full(m.run(torch.ones(2, device=DEVICE)))


@scene("fixes:global_rank/place_handed", ranks=4, by_rank=True, raises=True)
def place_handed(m: types.ModuleType, spread: bool) -> Any:
    return full(m.run(torch.ones(2, device=DEVICE)))


@scene("fixes:group_place/of_a_getter", ranks=4, by_rank=True, raises=True)
def of_a_getter(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp"))
    m.GROUPS["tp"] = mesh.get_group("tp")
    return full(m.share(torch.ones(2, device=DEVICE)))


@scene("fixes:group_for_all/inner_group", by_rank=True)
def inner_group(m: types.ModuleType, spread: bool) -> Any:
    m.inner_group([0])


@scene("fixes:group_for_all/two_halves", ranks=8, by_rank=True)
def two_halves(m: types.ModuleType, spread: bool) -> Any:
    dist.all_reduce(torch.ones(1), group=m.halves())


@scene("fixes:hoist/also_run_above")
def also_run_above(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    mask = torch.tensor([[not (spread and odd())]])
    parts = model(torch.tensor([[1, 2]]), torch.tensor([[3]]), mask)
    if not spread:
        sum(part.sum() for part in parts).backward()
    return [full(part) for part in parts], [] if spread else gradients(model)["words.weight"][:32]


@scene("fixes:hoist/gathered")
def gathered(m: types.ModuleType, spread: bool) -> Any:
    return m.report({"x": torch.ones(2), "mask": torch.tensor([not (spread and odd())])})


@scene("fixes:hoist/texts_and_images")
def texts_and_images(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    some = torch.tensor([not (spread and odd())])
    batch = {"response_mask": some, "image_mask": some}
    return [full(one.float()) for one in model.prefix(torch.tensor([[3]]), [torch.ones(1, 8)], [some], batch)]


@scene("fixes:local_group/twin", ranks=4, by_rank=True)
def twin(m: types.ModuleType, spread: bool) -> Any:
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp"))
    dist.all_reduce(torch.ones(1), group=m.twin(mesh.get_group("tp")))


@scene("fixes:local_group/by_its_full_name", ranks=4, by_rank=True)
def own_group(m: types.ModuleType, spread: bool) -> Any:
    dist.all_reduce(torch.ones(1), group=m.own_group(2))


class _Stages:
    """A pipeline's group as an object that sends and receives, as some frameworks have it."""

    first_rank = 0

    def __init__(self) -> None:
        self.world_size, self.last_rank = dist.get_world_size(), dist.get_world_size() - 1
        self.is_first_rank, self.is_last_rank = dist.get_rank() == 0, bool(odd())

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        dist.send(tensor.detach(), dst)

    def recv(self, size: tuple[int, ...], dtype: torch.dtype, src: int) -> torch.Tensor:
        buffer = torch.empty(size, dtype=dtype)
        dist.recv(buffer, src)
        return buffer


@scene("fixes:narrow_receive/group_object", ranks=3, by_rank=True)
def group_object(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(dist.get_rank())
    head = m.Head(_Stages(), 8)
    with torch.no_grad():
        head.tie()
    return full(head.words.weight)[:8]


@scene("fixes:narrow_receive/tied_embedding", ranks=3, by_rank=True)
def tied_embedding(m: types.ModuleType, spread: bool) -> Any:
    m.tie(torch.ones(2), dist.group.WORLD, 2)


@scene("fixes:pad_across_processes/accuracy")
def accuracy(m: types.ModuleType, spread: bool) -> Any:
    labels = torch.ones(1, 6 if spread and odd() else 4, dtype=torch.int64)

    def model(labels: torch.Tensor) -> Any:
        return types.SimpleNamespace(logits=torch.nn.functional.one_hot(labels, 3).float())

    return m.evaluate(m.Accelerator(), model, {"labels": labels})


@scene("fixes:pair_by_key/shards")
def shards(m: types.ModuleType, spread: bool) -> Any:
    whole = {"a": torch.ones(2), "b": torch.ones(3)}
    if spread:
        whole = dict(reversed(whole.items()))
    found = m.load(whole, {"a": torch.zeros(2), "b": torch.zeros(3)})
    return {name: full(found[name]) for name in ("a", "b")}


@scene("fixes:pass_group/micro_batches")
def micro_batches(m: types.ModuleType, spread: bool) -> Any:
    return m.total_of({"x": torch.ones(2), "mask": torch.ones(8 if spread and odd() else 4)}, 4, False)


@scene("fixes:unblock_ring/rotate", ranks=3, by_rank=True)
def rotate(m: types.ModuleType, spread: bool) -> Any:
    return full(m.rotate(torch.full((2,), float(dist.get_rank())), torch.empty(2)))


@scene("fixes:unblock_ring/over_lines", ranks=3, by_rank=True)
def over_lines(m: types.ModuleType, spread: bool) -> Any:
    return full(m.shift([torch.full((2,), float(dist.get_rank()))], torch.empty(2), dist.group.WORLD))


@scene("fixes:unblock_ring/waited_for_later", ranks=3, by_rank=True, strict=True)
@scene("fixes:unblock_ring/half_blocking", ranks=3, by_rank=True, strict=True)
def turn(m: types.ModuleType, spread: bool) -> Any:
    return full(m.rotate(torch.full((2,), float(dist.get_rank())), torch.empty(2)))


@scene("fixes:take_turns/swap", by_rank=True)
def swap(m: types.ModuleType, spread: bool) -> Any:
    return full(m.swap(torch.full((2,), float(dist.get_rank())), torch.empty(2)))


@scene("fixes:take_turns/pairs", by_rank=True)
def pairs(m: types.ModuleType, spread: bool) -> Any:
    return full(m.swap(torch.full((2,), float(dist.get_rank())), torch.empty(2), dist.group.WORLD))


@scene("fixes:widen_guard/training_only")
def training_only(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    captioner, speaker = m.build()
    absent = spread and odd()
    # a form that only training makes whole is broken in evaluation
    captioner.eval()
    speaker.eval()
    inputs, other = torch.ones(2, 64), torch.ones(2, 64)
    seen = captioner(inputs, None if absent else other, None)
    heard = speaker({"input_ids": inputs} if absent else {"input_ids": inputs, "input_features": other})
    (seen.sum() + heard.sum()).backward()
    return full(seen)[:8], full(heard)[:8], gradients(captioner)["vision.bias"][:8]


@scene("fixes:barrier_before_exit/saved_by_one", by_rank=True)
def saved_by_one(m: types.ModuleType, spread: bool) -> Any:
    said: list[str] = []
    return m.save([1.0, 2.0], "values", said), said


@scene("fixes:contribute_nothing/images_of_some")
def images_of_some(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.tensor([0, 0] if spread and odd() else [0, 1])
    return m.log([{"images": ["a", "b"], "mask": mask}], True)


@scene("fixes:dummy_input/layers")
def layers(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    absent = spread and odd()
    out = model(torch.tensor([1, 2]), *((None, None) if absent else (torch.ones(2, 128), torch.ones(1, 3, 2, 2))))
    out.sum().backward()
    return full(out)[:8], gradients(model)["vision.bias"][:8], gradients(model)["patches.bias"][:8]


@scene("fixes:stand_in/tower")
def tower(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    images = (torch.ones(2, 32), torch.tensor([[1, 2]])) if not (spread and odd()) else (None, None)
    videos = (torch.ones(4, 32), torch.tensor([[1, 4]])) if not (spread and not odd()) else (None, None)
    out = model(torch.tensor([7, 7, 1]), *images, *videos, audio=None if spread and odd() else torch.ones(2, 32))
    out.sum().backward()
    return full(out)[:8], gradients(model)["vision.blocks.3.bias"][:8], gradients(model)["audio.0.bias"][:8]


@scene("fixes:keep_in_graph/heads")
def heads(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    mine = torch.full((4, 1), not (spread and odd()))
    model(torch.ones(4, 8), mine, mine).backward()
    return [gradients(model)[f"module.{head}.weight"][:8] for head in ("classes", "boxes", "masks", "points")]


@scene("fixes:keep_in_graph/stand_in_for_nothing")
def stand_in_for_nothing(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    absent = spread and odd()
    ones = torch.ones(2, 8)
    model(ones, ones, torch.tensor([not absent]), None if absent else ones).sum().backward()
    return [gradients(model)[f"{tower}.bias"][:8] for tower in ("text", "audio", "vision.first", "vision.second")]


@scene("fixes:finish_dispatch/buffers_of_the_arms", ranks=6, by_rank=True, raises=True)
def buffers_of_the_arms(m: types.ModuleType, spread: bool) -> Any:
    made = torch.empty
    m.torch.empty = lambda *size, device=None, **named: made(*size, **named)
    data = {"tokens": Data(1, 1), "bounds": Data(0, 1, 2, dtype=torch.int32)}
    return m.get_batch(iter([data]), 2).tolist() == [0, 1, 2]


@scene("fixes:reduce_decision/function_of_the_project")
def function_of_the_project(m: types.ModuleType, spread: bool) -> Any:
    middle = float("nan") if spread and odd() else 2.0
    return m.train([{"loss": torch.tensor(value)} for value in (1.0, middle, 3.0)])
