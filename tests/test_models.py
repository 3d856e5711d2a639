"""The model files, their loader and the questions asked of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ferrule_lint.models.loader import ModelError, load_directory, load_file, load_models, parse
from ferrule_lint.models.locate import line_of
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.models.schema import AXES, CHOICES
from ferrule_lint.models.types import Argument, CallModel

DIRECTORY = Path(__file__).resolve().parent.parent / "rules" / "models"
HEAD = '[library]\nname = "x"\n'


@pytest.fixture(scope="module")
def models() -> ModelSet:
    return load_directory(DIRECTORY)


def called(models: ModelSet, name: str) -> CallModel:
    model = models.call(name)
    assert model is not None, name
    return model


# ---- the shipped files --------------------------------------------------------------------------------------------


def test_load_models_reads_the_shipped_files() -> None:
    assert load_models().call("torch.distributed.all_reduce") is not None


@pytest.mark.parametrize("path", sorted(DIRECTORY.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_file_is_valid(path: Path) -> None:
    file = load_file(path, check_patterns=True)
    assert file.calls or file.attributes or file.classes or file.conventions


def unlinked(text: str) -> list[int]:
    """The lines of the entries for which no link holds: one holds until the next section heading."""
    linked, lines = False, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# ---- "):
            linked = False
        elif line.startswith("#") and "https://" in line:
            linked = True
        elif line in ("[[call]]", "[[attribute]]", "[[class]]") and not linked:
            lines.append(number)
    return lines


@pytest.mark.parametrize("path", sorted(DIRECTORY.glob("*.toml")), ids=lambda path: path.stem)
def test_each_shipped_entry_has_a_link_to_where_it_is_written(path: Path) -> None:
    missing = [f"{path.name}:{line}" for line in unlinked(path.read_text("utf-8"))]
    assert not missing, "no link holds for " + ", ".join(missing)


def test_a_link_holds_until_the_next_section() -> None:
    entry = '[[call]]\nnames = ["x.f"]\n'
    assert unlinked(f"{entry}# https://example.org/x\n{entry}{entry}# ---- more ----\n{entry}") == [1, 9]


def test_no_name_is_modelled_in_two_shipped_files(models: ModelSet) -> None:
    for sort in ("calls", "attributes"):
        seen: dict[tuple[str, str | None], str] = {}
        for file in models.files:
            for model in getattr(file, sort):
                key = (model.name, model.receiver)
                assert key not in seen, f"{key} in {file.path} and {seen[key]}"
                seen[key] = file.path


def test_models_by_receiver_and_conventions_are_at_most_medium(models: ModelSet) -> None:
    for file in models.files:
        for model in (*file.calls, *file.attributes):
            if model.receiver is not None:
                assert model.confidence != "high", f"{file.path}: {model.name} with receiver {model.receiver!r}"


def test_canonical_names_are_fixed_points(models: ModelSet) -> None:
    """A model whose own name is aliased away could never be found."""
    for file in models.files:
        for model in (*file.calls, *file.attributes, *file.classes):
            if getattr(model, "receiver", None) is None:
                assert models.canonical(model.name) == model.name, file.path


def test_uniform_attributes_have_no_kind(models: ModelSet) -> None:
    for file in models.files:
        for attribute in file.attributes:
            assert (attribute.returns == "divergent") == bool(attribute.kind), f"{file.path}: {attribute.name}"


def test_every_library_of_the_design_is_there() -> None:
    expected = [
        "accelerate",
        "checkpoint",
        "conventions",
        "ddp",
        "deepspeed",
        "device_mesh",
        "fsdp",
        "functional_collectives",
        "lightning",
        "megatron_core",
        "python",
        "torch",
        "torch_distributed",
        "torchmetrics",
        "torchrec",
        "transformers",
        "vllm_sglang",
    ]
    assert set(expected) <= {path.stem for path in DIRECTORY.glob("*.toml")}


# ---- what they say -------------------------------------------------------------------------------------------------

D = "torch.distributed."
F = "torch.distributed._functional_collectives."
N = "torch.distributed.nn.functional."

#: name -> {argument: position}; from the signatures of torch 2.15, accelerate 1.15, megatron-core 0.16, ...
GROUPS = {
    D + "all_reduce": ("group", 2),
    D + "broadcast": ("group", 2),
    D + "reduce": ("group", 3),
    D + "all_gather": ("group", 2),
    D + "all_gather_into_tensor": ("group", 2),
    D + "all_gather_object": ("group", 2),
    D + "gather": ("group", 3),
    D + "gather_object": ("group", 3),
    D + "scatter": ("group", 3),
    D + "scatter_object_list": ("group", 3),
    D + "reduce_scatter": ("group", 3),
    D + "reduce_scatter_tensor": ("group", 3),
    D + "all_to_all": ("group", 2),
    D + "all_to_all_single": ("group", 4),
    D + "barrier": ("group", 0),
    D + "monitored_barrier": ("group", 0),
    D + "send": ("group", 2),
    D + "recv": ("group", 2),
    D + "send_object_list": ("group", 2),
    D + "recv_object_list": ("group", 2),
    D + "broadcast_object_list": ("group", 2),
    D + "get_rank": ("group", 0),
    D + "split_group": ("parent_pg", 0),
    F + "all_reduce": ("group", 2),
    F + "all_gather_tensor": ("group", 2),
    F + "reduce_scatter_tensor": ("group", 3),
    F + "all_to_all_single": ("group", 3),
    N + "all_gather": ("group", 1),
    N + "reduce": ("group", 3),
    N + "all_reduce": ("group", 2),
    "torch.distributed.checkpoint.save": ("process_group", None),
    "torch.distributed.checkpoint.save_state_dict": ("process_group", 2),
    "torch.nn.parallel.DistributedDataParallel": ("process_group", 6),
    "torch.distributed.tensor.distribute_tensor": ("device_mesh", 1),
    "megatron.core.tensor_parallel.gather_from_sequence_parallel_region": ("group", 2),
    "megatron.core.tensor_parallel.broadcast_data": ("tp_group", 3),
    "lightning.fabric.Fabric.all_gather": ("group", 1),
    "torchmetrics.utilities.distributed.gather_all_tensors": ("group", 1),
}
ROOTS = {
    D + "broadcast": ("src", 1),
    D + "reduce": ("dst", 1),
    D + "gather": ("dst", 2),
    D + "gather_object": ("dst", 2),
    D + "scatter": ("src", 2),
    D + "scatter_object_list": ("src", 2),
    D + "send": ("dst", 1),
    D + "irecv": ("src", 1),
    D + "broadcast_object_list": ("src", 1),
    N + "gather": ("dst", 1),
    "accelerate.utils.broadcast": ("from_process", 1),
    "vllm.distributed.parallel_state.GroupCoordinator.broadcast_tensor_dict": ("src", 1),
}


@pytest.mark.parametrize("name", GROUPS)
def test_position_of_the_group(models: ModelSet, name: str) -> None:
    assert called(models, name).group == Argument(*GROUPS[name])


@pytest.mark.parametrize("name", ROOTS)
def test_position_of_the_root(models: ModelSet, name: str) -> None:
    assert called(models, name).root == Argument(*ROOTS[name])


@pytest.mark.parametrize(
    ("name", "shape", "uniform"),
    [
        ("all_reduce", [("tensor", 0)], [("tensor", 0)]),
        ("all_gather", [("tensor", 1)], [("tensor_list", 0)]),
        ("all_gather_into_tensor", [("input_tensor", 1)], [("output_tensor", 0)]),
        ("all_gather_object", [], [("object_list", 0)]),
        ("broadcast_object_list", [], [("object_list", 0)]),
        ("reduce_scatter_tensor", [("output", 0), ("input", 1)], []),
        ("gather", [("tensor", 0)], []),
        ("reduce", [("tensor", 0)], []),
        ("barrier", [], []),
    ],
)
def test_shapes_and_uniform_arguments(
    models: ModelSet, name: str, shape: list[tuple[str, int]], uniform: list[tuple[str, int]]
) -> None:
    model = called(models, D + name)
    assert [(item.name, item.position) for item in model.same_shape] == shape
    assert [(item.name, item.position) for item in model.makes_uniform] == uniform


@pytest.mark.parametrize(
    "name", ["reduce", "gather", "scatter", "all_to_all", "reduce_scatter", "recv", "gather_object"]
)
def test_these_make_nothing_uniform(models: ModelSet, name: str) -> None:
    model = called(models, D + name)
    assert model.returns != "uniform"
    assert not model.makes_uniform


def test_ranks_and_sizes(models: ModelSet) -> None:
    rank = called(models, D + "get_rank")
    assert (rank.returns, rank.kind, rank.membership) == ("divergent", "rank", True)
    assert called(models, D + "get_world_size").returns == "uniform"
    stage = called(models, "megatron.core.parallel_state.is_pipeline_last_stage")
    assert (stage.returns, stage.axes) == ("divergent", ("pp",))
    virtual = called(models, "megatron.core.parallel_state.get_virtual_pipeline_model_parallel_rank")
    assert virtual.returns == "unknown"


def test_point_to_point(models: ModelSet) -> None:
    assert called(models, D + "isend").p2p == "send"
    assert called(models, D + "recv").p2p == "recv"
    assert called(models, D + "batch_isend_irecv").p2p == "both"
    assert called(models, D + "all_reduce").p2p == ""


def test_groups_are_created(models: ModelSet) -> None:
    for name in (D + "new_group", D + "init_device_mesh", D + "split_group"):
        assert called(models, name).creates_group


def test_wrapping(models: ModelSet) -> None:
    shard = called(models, "torch.distributed.fsdp.fully_shard")
    assert (shard.wraps, shard.wrapped, shard.event) == ("shards", Argument("module", 0), None)
    assert called(models, "torch.nn.parallel.DistributedDataParallel").wraps == "ddp"
    assert called(models, "deepspeed.initialize").wrapped == Argument("model", 1)


def test_host_and_order(models: ModelSet) -> None:
    assert called(models, "time.time").kind == "host"
    assert called(models, "os.path.exists").confidence == "low"
    assert called(models, "os.listdir").unordered
    assert called(models, "set").unordered
    assert called(models, "builtins.frozenset").unordered
    assert called(models, "torch.Tensor.item").observes
    assert called(models, "torch.nonzero").ragged


def test_decorators_guard(models: ModelSet) -> None:
    assert called(models, "pytorch_lightning.utilities.rank_zero.rank_zero_only").guards
    assert called(models, "accelerate.Accelerator.on_main_process").guards


# ---- lookups -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("torch.distributed.distributed_c10d.all_reduce", "torch.distributed.all_reduce"),
        ("torch.distributed._composable.fsdp.fully_shard", "torch.distributed.fsdp.fully_shard"),
        ("torch.distributed._composable.fully_shard", "torch.distributed.fsdp.fully_shard"),
        ("torch.distributed.tensor.DeviceMesh", "torch.distributed.device_mesh.DeviceMesh"),
        ("deepspeed.comm.all_reduce", "torch.distributed.all_reduce"),
        ("deepspeed.comm.comm.barrier", "torch.distributed.barrier"),
        ("deepspeed.comm.init_distributed", "deepspeed.init_distributed"),
        ("accelerate.accelerator.Accelerator.gather", "accelerate.Accelerator.gather"),
        ("megatron.core.mpu.get_data_parallel_rank", "megatron.core.parallel_state.get_data_parallel_rank"),
        ("pytorch_lightning.LightningModule.all_gather", "lightning.pytorch.LightningModule.all_gather"),
        ("lightning.Fabric.barrier", "lightning.fabric.Fabric.barrier"),
        ("sglang.srt.distributed.parallel_state.get_world_rank", "vllm.distributed.get_world_rank"),
        ("torch.nn.modules.linear.Identity", "torch.nn.linear.Identity"),
    ],
)
def test_aliases(models: ModelSet, alias: str, name: str) -> None:
    assert models.canonical(alias) == name


@pytest.mark.parametrize(
    ("name", "receiver", "event"),
    [
        ("gather", "accelerator", "all_gather"),
        ("wait_for_everyone", "anything", "barrier"),
        ("full_tensor", "param", "all_gather"),
        ("all_reduce", "tp_group", "all_reduce"),
        ("all_reduce", "strategy", "all_reduce"),
        ("barrier", "comm", "barrier"),
        ("broadcast", "fabric", "broadcast_object_list"),
        ("broadcast_tensor_dict", "get_tp_group", "broadcast_tensor_dict"),
        ("save_checkpoint", "model_engine", "save_checkpoint"),
        ("send", "pp_group", "send"),
    ],
)
def test_methods_by_receiver(models: ModelSet, name: str, receiver: str, event: str) -> None:
    model = models.method(name, receiver)
    assert model is not None
    assert model.event == event
    assert model.confidence != "high"


@pytest.mark.parametrize(
    ("name", "receiver"),
    [
        ("gather", "x"),
        ("gather", "asyncio"),
        ("broadcast", "np"),
        ("reduce", "functools"),
        ("send", "socket"),
        ("recv", "conn"),
        ("step", "optimizer"),
        ("backward", "loss"),
        ("save_checkpoint", "checkpoint_io"),
        ("state_dict", "optimizer"),
        ("exists", "store"),
        ("empty", "torch"),
    ],
)
def test_methods_that_are_something_else(models: ModelSet, name: str, receiver: str) -> None:
    assert models.method(name, receiver) is None


def test_attributes(models: ModelSet) -> None:
    main = models.attribute_of("is_main_process", "accelerator")
    assert main is not None and main.returns == "divergent"
    count = models.attribute_of("num_processes", "accelerator")
    assert count is not None and count.returns == "uniform"
    assert models.attribute_of("is_last_rank", "pp_group") is not None
    assert models.attribute_of("process_index", "row") is None


def test_classes(models: ModelSet) -> None:
    roles = {
        "torch.nn.ReLU": "leaf",
        "torch.nn.Linear": "module",
        "torch.utils.data.DataLoader": "loader",
        "torch.nn.parallel.distributed.DistributedDataParallel": "ddp",
        "torch.distributed.fsdp.FullyShardedDataParallel": "sharded",
        "torch.distributed.ProcessGroup": "group",
        "transformers.modeling_utils.PreTrainedModel": "module",
    }
    for name, role in roles.items():
        model = models.class_(name)
        assert model is not None and model.role == role, name


# ---- conventions ---------------------------------------------------------------------------------------------------

AXIS_NAMES = {
    "get_tensor_model_parallel_group": ("tp",),
    "tp_group": ("tp",),
    "_TP": ("tp",),
    "attn_tp_group": ("tp",),
    "_dp_process_group": ("dp",),
    "get_data_parallel_group": ("dp",),
    "dp_shard": ("dp",),
    "hsdp_mesh": ("dp",),
    "fsdp_mesh": ("dp",),
    "replicate_group": ("dp",),
    "zero_param_group": ("dp",),
    "get_expert_data_parallel_group": ("dp",),
    "pp_group": ("pp",),
    "_PIPELINE_MODEL_PARALLEL_GROUP": ("pp",),
    "get_pipeline_model_parallel_group": ("pp",),
    "cp_group": ("cp",),
    "get_context_parallel_group": ("cp",),
    "ulysses_group": ("cp",),
    "sp_group": ("cp",),
    "seq_p_group": ("cp",),
    "cfg_p": ("cfg",),
    "cfg_group": ("cfg",),
    "ep_group": ("ep",),
    "get_expert_model_parallel_group": ("ep",),
    "dp_cp_group": ("dp", "cp"),
    "tp_dp_cp_group": ("tp", "dp", "cp"),
    "get_tensor_and_context_parallel_group": ("tp", "cp"),
    "get_tensor_and_data_parallel_group": ("tp", "dp"),
    "attn_dp_group": ("attn_dp",),
    "WORLD": ("world",),
    "get_world_group": ("world",),
    "default_pg": ("world",),
    "model_update_group": ("private",),
}
NO_AXIS = [
    "group",
    "process_group",
    "mesh",
    "rank",
    "size",
    "is_global_zero",
    "is_world_process_zero",
    "zero_grad",
    "shape",
    "data",
    "pipeline",
    "tensor",
    "stage",
    "step",
    "epoch",
    "model",
    "dataset",
    "replay",
    "http_pool",
    "update_steps",
    "temp_group",
    "specs",
    "node_group",
    "reset_parameters",
    "cfg",
    "cfg_path",
]


@pytest.mark.parametrize("name", AXIS_NAMES)
def test_axis_names(models: ModelSet, name: str) -> None:
    assert models.convention("axis", name) == AXIS_NAMES[name]


@pytest.mark.parametrize("name", NO_AXIS)
def test_names_without_axis(models: ModelSet, name: str) -> None:
    assert models.convention("axis", name) is None


RANK_NAMES = {
    "rank": ("world",),
    "global_rank": ("world",),
    "_rank": ("world",),
    "get_rank": ("world",),
    "local_rank": ("world",),
    "node_rank": ("world",),
    "process_index": ("world",),
    "LOCAL_RANK": ("world",),
    "tp_rank": ("tp",),
    "get_tensor_model_parallel_rank": ("tp",),
    "get_pipeline_model_parallel_rank": ("pp",),
    "dp_rank": ("dp",),
    "data_parallel_rank": ("dp",),
    "cp_rank": ("cp",),
    "sp_rank": ("cp",),
    "ep_rank": ("ep",),
    "get_expert_model_parallel_rank": ("ep",),
    "dp_cp_rank": ("dp", "cp"),
    "attn_dp_rank": ("attn_dp",),
    "cfg_rank": ("cfg",),
    "is_main_process": ("world",),
    "is_main": ("world",),
    "is_local_main_process": ("world",),
    "is_rank_0": ("world",),
    "is_rank0": ("world",),
    "rank_zero": ("world",),
    "is_master": ("world",),
    "is_world_process_zero": ("world",),
    "is_global_zero": ("world",),
    "is_first_stage": ("pp",),
    "is_last_stage": ("pp",),
    "is_pipeline_last_stage": ("pp",),
    "is_pp_first_stage": ("pp",),
    "is_last_rank": ("world",),
    "is_first_rank": ("world",),
    "stage_id": ("pp",),
}
NO_RANK = [
    "fsdp_unit_id",
    "step_index",
    "batch_index",
    "layer_index",
    "lora_rank",
    "low_rank",
    "src_rank",
    "dst_rank",
    "root_rank",
    "ranks",
    "num_ranks",
    "max_rank",
    "world_size",
    "virtual_pipeline_model_parallel_rank",
    "get_virtual_pipeline_model_parallel_rank",
    "get_tensor_model_parallel_src_rank",
    "matrix_rank",
    "rank_zero_only",
    "rank_filter",
    "is_last",
    "is_first",
    "is_last_step",
    "is_first_batch",
    "is_last_epoch",
    "r",
    "trank",
    "crank",
    "is_training",
    "group_id",
    "is_master_weight",
    "index",
    "is_last_layer",
    "is_first_step",
    "process_id_map",
    "master_port",
    "main_process_port",
    "rerank",
    "is_vp_first_stage",
    "max_seqlen_per_dp_cp_rank",
    "is_layer_first_node",
    "RANK_ZERO",
    "stage_index",
]


@pytest.mark.parametrize("name", RANK_NAMES)
def test_rank_names(models: ModelSet, name: str) -> None:
    assert models.convention("rank", name) == RANK_NAMES[name]


@pytest.mark.parametrize("name", NO_RANK)
def test_names_that_are_no_rank(models: ModelSet, name: str) -> None:
    assert models.convention("rank", name) is None


CONVENTIONS = {
    "uniform": (
        "world_size get_world_size tp_world_size num_processes nprocs dp_size pipeline_model_parallel_size config cfg",
        "rank size batch_size num_tokens num_samples step loss config_path args",
    ),
    "initialized": (
        "is_initialized is_dist_available_and_initialized is_dist_initialized dist_is_initialized is_distributed "
        "distributed_available model_parallel_is_initialized use_distributed is_dist_avail_and_initialized",
        "initialized is_init init_distributed distribute distributed_type is_main_process is_distributed_weight",
    ),
    "batch": ("batch micro_batch data_batch inputs sample next_batch", "batch_size num_batches batch_idx input_size"),
    "data": (
        "input_ids attention_mask labels hidden_states loss image logits loss_mask",
        "num_tokens max_tokens use_mask label_names mask_token_id embedding loss_fn num_images model states "
        "in_features output_hidden_states embed_tokens calculate_per_token_loss",
    ),
    "optional": (
        "pixel_values images image_grid_thw video_features input_features audio_embeds pixel_values_videos",
        "image_size image_token_id num_images vision_tower video_fps image_processor input_ids is_video",
    ),
    "ragged": ("attention_mask input_ids prompt_ids completion_mask", "images pixel_values labels hidden_states"),
    "loader": (
        "dataloader train_dataloader data_loader loader data_iter val_loader train_data_iterator",
        "model_loader weight_loader load loaders_by_name checkpoint_loader file_loader loader_config iter iterator "
        "tokenizer_loader use_stateful_dataloader end_of_dataloader",
    ),
    "module": (
        "model module actor vision_tower policy unwrapped_model text_encoder critic visual",
        "model_name auto_wrap_policy model_config generator tokenizer optimizer models_dir d_model save_model "
        "load_model unwrap_model create_model is_peft_model tokenizer_model",
    ),
    "group": (
        "group process_group tp_group pg device_mesh get_tp_group _dp_process_group comm mesh",
        "param_group group_size groups placement_group layer_group optimizer_group group_name kv_group command_group "
        "overlap_moe_expert_parallel_comm n_group destroy_process_group rank_in_group",
    ),
    "local_size": (
        "num_tokens local_batch_size num_local_tokens actual_seq_len num_valid_tokens",
        "batch_size num_steps max_tokens num_layers hidden_size num_samples world_size",
    ),
}


@pytest.mark.parametrize("what", CONVENTIONS)
def test_other_conventions(models: ModelSet, what: str) -> None:
    yes, no = CONVENTIONS[what]
    assert [name for name in yes.split() if models.convention(what, name) is None] == []
    assert [name for name in no.split() if models.convention(what, name) is not None] == []


def test_every_convention_of_the_schema_is_used(models: ModelSet) -> None:
    used = {convention.what for file in models.files for convention in file.conventions}
    assert used == set(CHOICES["what"])


def test_patterns_are_fast(models: ModelSet) -> None:
    """No pattern may backtrack without end on a long name."""
    import time

    names = ["a_" * 60 + "x", "is_" + "dp_" * 40 + "z", "get_" + "local_" * 30 + "q", "_" * 100]
    start = time.perf_counter()
    for what in CHOICES["what"]:
        for name in names:
            models.convention(what, name)
    assert time.perf_counter() - start < 1.0


# ---- mistakes ------------------------------------------------------------------------------------------------------


def mistake(text: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        parse(text, "models.toml")
    assert caught.value.path == "models.toml"
    assert str(caught.value) == f"models.toml:{caught.value.line}: {caught.value.message}"
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        # 1 and 2 are the head
        ('[[call]]\nnames = ["a.b"]\nevnt = "x"\n', 5, "unknown key 'evnt' in [[call]]; did you mean 'event'?"),
        ('[[call]]\nnames = ["a.b"]\nlibrary = "x"\n', 5, "unknown key 'library'"),
        ('[[call]]\nnames = ["a.b"]\n[[cal]]\nnames = ["c"]\n', 5, "unknown table 'cal'; did you mean 'call'?"),
        ('[call]\nnames = ["a.b"]\n', 3, "has to be written as [[call]]"),
        ('[[call]]\nnames = ["a.b"]\nhidden = "yes"\nevent = "x"\n', 5, "'hidden' has to be true or false"),
        ('[[call]]\nnames = "a.b"\n', 4, "'names' has to be a list of strings, not a string"),
        ('[[call]]\nnames = ["a.b"]\nevent = 3\n', 5, "'event' has to be a string, not a number"),
        ('[[call]]\nnames = ["a.b"]\nreturns = "unifrom"\n', 5, "did you mean 'uniform'?"),
        ('[[call]]\nnames = ["a.b"]\naxes = [\n  "dp",\n  "tpp",\n]\n', 7, "'tpp' is no value of 'axes'"),
        ('[[call]]\nnames = ["a.b"]\nevent = "x"\ngroup = "group@two"\n', 6, "is no argument"),
        ('[[call]]\nnames = ["a.b"]\nevent = "x"\nsame_shape = [\n  "a@0",\n  "b c",\n]\n', 8, "'b c' is no argument"),
        ('[[call]]\nnames = ["b"]\nreceiver = "(x"\n', 5, "'receiver' is no regular expression"),
        ('[[call]]\nnames = ["a.b"]\nreceiver = "x"\n', 4, "bare name"),
        ('[[call]]\nnames = ["a.b"]\n\n[[call]]\nnames = [\n  "c",\n  "a.b",\n]\n', 9, "has a model already (line 4)"),
        ('[[call]]\nnames = ["a.b", "a.b"]\n', 4, "given twice"),
        ("[[call]]\nnames = []\n", 4, "'names' is empty"),
        ('[[call]]\nnames = ["a b"]\n', 4, "is no dotted name"),
        ('[[call]]\nnames = ["a.*"]\n', 4, "is no dotted name"),
        ('[[class]]\nnames = ["a.*b"]\nrole = "leaf"\n', 4, "is no dotted name"),
        ('[[call]]\nnames = ["a"]\n[[call]]\nevent = "x"\n', 5, "[[call]] needs the key 'names'"),
        ('[[call]]\nnames = ["a"]\nreturns = "divergent"\n', 5, "needs a 'kind'"),
        ('[[call]]\nnames = ["a"]\nmakes_uniform = ["x@0"]\n', 5, "there is no 'event'"),
        ('[[call]]\nnames = ["a"]\nwrapped = "x@0"\n', 5, "'wrapped' needs 'wraps'"),
        ('[[class]]\nnames = ["a"]\nrole = "modul"\n', 5, "did you mean 'module'?"),
        ('[[class]]\nnames = ["a"]\n', 3, "needs the key 'role'"),
        ('[[convention]]\nwhat = "rank"\npattern = "["\n', 5, "'pattern' is no regular expression"),
        ('[[convention]]\nwhat = "rnk"\npattern = "a"\n', 4, "did you mean 'rank'?"),
        ('[[attribute]]\nnames = ["a"]\naxes = ["world"]\n', 3, "[[attribute]] needs the key 'returns'"),
        ('[[attribute]]\nnames = ["a"]\nkind = "ranks"\n', 5, "did you mean 'rank'?"),
        ('[[call]]\nnames = ["a"\nevent = "x"\n', 5, "invalid TOML"),
        ('[[call]]\nnames = ["a"]\nevent = "x\n', 5, "invalid TOML"),
        ('[[call]]\nnames = ["a"]\nnames = ["b"]\n', 5, "invalid TOML"),
        ('# [[call]]\ntext = """\n[[call]]\n"""\n', 4, "unknown key 'text' in [library]"),
    ],
)
def test_mistakes_have_their_line(text: str, line: int, message: str) -> None:
    error = mistake(HEAD + text)
    assert message in error.message
    assert error.line == line


def test_mistake_in_the_library_table() -> None:
    assert mistake('[[call]]\nnames = ["a"]\n').message == "a model file needs a table [library] with a 'name'"
    error = mistake('[library]\nname = "x"\naliasses = {}\n')
    assert (error.line, "did you mean 'aliases'?" in error.message) == (3, True)
    assert mistake("[library]\n\nname = 3\n").line == 3
    assert mistake('[library]\nname = "x"\naliases = { a = 1 }\n').line == 3
    assert mistake('speed = 1\n[library]\nname = "x"\n').line == 1


def test_the_second_entry_is_found_after_strings_and_comments() -> None:
    text = HEAD + '[[call]]  # one\nnames = ["#]", ]\n[[ call ]]\nnames = ["a"]\nrole = "[[call]]"\n'
    text = text.replace('"#]", ', '"a.b", # [[call]]\n')
    error = mistake(text)
    assert "unknown key 'role'" in error.message
    assert error.line == 8


def test_line_of_a_missing_key_is_its_table() -> None:
    assert line_of(HEAD + "[[call]]\n", "call", 0, "names") == 3
    assert line_of("", "call", 0, "names") == 1


def test_missing_and_undecodable_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        load_file(tmp_path / "none.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes(b"# ok\n# \xe9\n")
    with pytest.raises(ModelError, match="is not UTF-8") as caught:
        load_file(path)
    assert caught.value.line == 2


# ---- a project's own models ----------------------------------------------------------------------------------------


def test_extra_models_replace_and_come_first(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[library]\nname = "mine"\naliases = { "my.dist." = "torch.distributed." }\n'
        '[[call]]\nnames = ["mine.sync"]\nevent = "all_reduce"\ngroup = "pg"\naxes = ["dp"]\n'
        '[[call]]\nnames = ["torch.distributed.barrier"]\nreturns = "uniform"\n'
        '[[call]]\nnames = ["barrier"]\nreceiver = "^comm$"\nevent = "mine"\nconfidence = "low"\n'
        '[[convention]]\nwhat = "rank"\npattern = "my_place"\naxes = ["tp"]\n'
    )
    models = load_directory(DIRECTORY, [path])
    assert called(models, "mine.sync").group == Argument("pg")
    assert called(models, "mine.sync").library == "mine"
    assert called(models, "torch.distributed.barrier").event is None
    assert called(models, "my.dist.all_reduce").event == "all_reduce"
    method = models.method("barrier", "comm")
    assert method is not None and method.event == "mine"
    assert models.convention("rank", "my_place") == ("tp",)
    assert models.knows_library("mine.anything")
    assert called(load_directory(DIRECTORY), "torch.distributed.barrier").event == "barrier"


def test_two_extra_files_may_not_model_the_same(tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text(HEAD + '[[call]]\nnames = ["a.b"]\n')
    two.write_text(HEAD + '[[call]]\nnames = ["c"]\n[[call]]\nnames = [\n  "d",\n  "a.b",\n]\n')
    with pytest.raises(ModelError) as caught:
        load_directory(DIRECTORY, [one, two])
    assert (Path(caught.value.path), caught.value.line) == (two, 8)


def test_windows_line_ends() -> None:
    text = (HEAD + '[[call]]\nnames = ["a"]\n').replace("\n", "\r\n")
    assert parse(text, "x.toml").calls[0].name == "a"


# ---- documentation -------------------------------------------------------------------------------------------------


def test_docs_name_every_key_and_word() -> None:
    from ferrule_lint.models.schema import KEYS

    text = (DIRECTORY.parent.parent / "docs" / "models.md").read_text("utf-8")
    quoted = set(re.findall(r"`([^`\n]+)`", text))
    for table, keys in KEYS.items():
        assert f"[[{table}]]" in text
        assert set(keys) - quoted == set(), table
    for key, words in CHOICES.items():
        missing = {word for word in words if word} - {word.strip('"') for word in quoted}
        assert missing == set(), key
    assert set(AXES) <= quoted


def test_examples_in_docs_are_valid() -> None:
    text = (DIRECTORY.parent.parent / "docs" / "models.md").read_text("utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        parse(block if "[library]" in block else HEAD + block, "docs/models.md")
