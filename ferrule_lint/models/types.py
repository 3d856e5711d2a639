"""What a library's calls do, as declared in `rules/models/*.toml`.

A model file is data that an expert in distributed training edits without knowing the analyser. This module
holds the typed form; `loader` reads and checks the files; `lookup` answers the analyser's questions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Argument:
    """Where an argument is found at a call: by keyword, else by position (from 0, receiver not counted).

    Written in TOML as "name@position", or "name" for keyword only.
    """

    name: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class CallModel:
    """What one function or method of a library does.

    A `name` with dots ("torch.distributed.all_reduce") is the full dotted path of a function or of a class's
    method ("torch.Tensor.item"). With `receiver` set it is a bare method name, matched on receivers of unknown
    type whose last name matches the regular expression `receiver` ("^accelerator$"); such a match is a convention.
    `receiver = ""` (empty) matches any receiver: only for method names that nothing else uses ("full_tensor").
    """

    name: str
    library: str
    receiver: str | None = None
    #: the collective issued, or None
    event: str | None = None
    #: issued without saying so (a sharded forward, state_dict, clip_grad_norm_)
    hidden: bool = False
    #: point to point: "send", "recv", "both" (a batch or an exchange with both neighbours), or "" for a collective
    p2p: str = ""
    group: Argument | None = None
    #: axes of the event or of the divergent result when no group argument is given or it cannot be told
    axes: tuple[str, ...] = ()
    root: Argument | None = None
    #: arguments whose shape has to be the same on every rank of the group
    same_shape: tuple[Argument, ...] = ()
    #: arguments that hold the same value on every rank of the group afterwards
    makes_uniform: tuple[Argument, ...] = ()
    #: lists of which each rank holds what it was sent afterwards, whatever was in them
    fills: tuple[Argument, ...] = ()
    #: tensors in which each rank has a part of its own afterwards
    deals: tuple[Argument, ...] = ()
    #: "uniform" (same on all ranks of the group), "true" (true once there is more than one rank),
    #: "false" (false as long as Python itself runs the code: no graph is traced or scripted),
    #: "rank_and_size" (the rank and the number of ranks, as a tuple), "divergent",
    #: "data" (local tensor data), "argument" (as its arguments), "same" (its first argument), "unknown"
    returns: str = "unknown"
    #: kind of divergence when returns = "divergent": rank, data, host, structure
    kind: str = ""
    #: the result names a position in the group it was asked for: never divergent inside another
    membership: bool = False
    #: the result is a rank of the job: the first or last member of this rank's group along these axes
    root_of: tuple[str, ...] = ()
    #: events only if this argument is true / is given (`async_op`-like switches are not meant)
    only_if: Argument | None = None
    #: no event if this argument is certainly true (`no_dist=True`)
    unless: Argument | None = None
    #: it is surely an event only if this argument lists nothing but `Replicate()`, and else a guess
    gathers_to: Argument | None = None
    #: events only in a project that shards modules: with plain parameters nothing is sent
    if_sharded: bool = False
    #: events only in a project in whose code one of these names stands
    if_named: tuple[str, ...] = ()
    #: a guess where the object was made with one of these arguments: `name`, or `name=value`
    guess_if_made_with: tuple[str, ...] = ()
    #: no event where the object was made for one device: `Trainer(devices=1)`
    of_devices: bool = False
    #: with `receiver`: only in a project of which some file imports one of these packages, whose class is called so
    if_imported: tuple[str, ...] = ()
    #: no event in a `with` whose expression names all of these; of `!x`, where it does not pass a true `x`
    local_within: tuple[str, ...] = ()
    #: a back end that shards modules makes it an event: low confidence in a program that speaks of none
    by_back_end: bool = False
    #: ... but without this argument it is one under each back end
    always_without: Argument | None = None
    #: where this argument is given, ranks pair by what it says, in whatever order they come (a name)
    paired_by: Argument | None = None
    #: "shards": wraps or marks a module so that its forward issues events; "ddp": its backward does
    wraps: str = ""
    wrapped: Argument | None = None
    #: the argument that says which parts of the module are gathered by themselves: without it, none are
    parts_by: Argument | None = None
    #: arguments that name, as classes or texts, whose modules are gathered by themselves in whatever the program wraps
    units_by: tuple[Argument, ...] = ()
    #: where the result is a tuple, what is in it: "module" is what was wrapped, "loader" a loader, "" anything else
    results: tuple[str, ...] = ()
    #: the collective with which ranks begin a shuffled loader that this has been given, to share a generator's state
    begins: str = ""
    #: whether that shards anything is decided by a configuration that the code does not show (a launcher's, a file's)
    configured: bool = False
    #: ... and by a launcher: in a program that speaks of no back end which shards, it wraps for DDP
    launched: bool = False
    #: a call that gives one of these arguments says that the project's modules are sharded, whichever they are
    shards_by: tuple[Argument, ...] = ()
    #: arguments whose text says how the modules are wrapped that a program runs (`strategy="ddp"`)
    wraps_by: tuple[Argument, ...] = ()
    #: how all modules are wrapped that a program runs with what this makes: "ddp" or "shards"
    wraps_all: str = ""
    #: what this makes may shard the modules that an object is to wrap which is made with it (`Fabric(strategy=...)`):
    #: always ("shards"), by its `stage` ("stage") or by the text that it is given ("named")
    strategy: str = ""
    #: ... and this wraps them so, in a file that makes such a thing
    by_strategy: bool = False
    #: creates a process group or mesh: every rank of the default group has to call it
    creates_group: bool = False
    #: reads the content of the tensor it is called on (`item`, `any`, `tolist`)
    observes: bool = False
    #: pads its argument to the same size on all ranks
    pads: bool = False
    #: a context manager that has its events on entry ("enter"), exit ("exit") or "both"
    context: str = ""
    #: the result's iteration order is not the same on all ranks (set, os.listdir)
    unordered: bool = False
    #: a random number: more than a weak source where the project seeds the library's generator differently by rank
    random: bool = False
    #: the size of the result depends on the content of its arguments (nonzero, unique, masked_select)
    ragged: bool = False
    #: an argument that, where it is given, makes the size the same everywhere (`minlength`)
    sized_by: Argument | None = None
    #: the argument whose content alone decides that, where it is given: of the others only their size counts
    counted_by: Argument | None = None
    #: reduces the gradients of what it is given over the ranks: no backward may follow that feeds them
    reduces_gradients: bool = False
    #: the loss whose backward pass it runs: every output of a module has to reach it on all ranks, or on none
    loss: Argument | None = None
    #: an argument whose value, or number of items, decides how many items the result has
    length_of: Argument | None = None
    #: the result has another number of items on each rank; `kind` and `axes` tell why
    uneven: bool = False
    #: a decorator after which only some ranks run the function, the others get None (`rank_zero_only`); `kind` and
    #: `axes` tell which
    guards: bool = False
    #: starts the processes of a job, with the function they run as the first argument, and waits for them: when one
    #: fails it ends them all, and says so
    launches: bool = False
    #: the argument with the classes of exceptions for which a function is called again
    tries_again: Argument | None = None
    confidence: str = "high"
    #: what the library does with the result of a class's own version of this method, unless that is None (`backward`)
    returned: str = ""
    #: ... and not where one of these names stands in the file of the class: it sees to that itself
    unless_named: tuple[str, ...] = ()
    #: the argument that tells how often the event is issued
    rounds: Argument | None = None
    #: the argument that holds what it is issued for, one after the other: once for each entry of a dict
    for_each: Argument | None = None
    #: an argument that is surely an object of the class whose method this is (`FSDP.state_dict_type(model)`)
    instance: Argument | None = None
    #: dotted name of the library class that the result is an instance of, or of the library function that it is
    makes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeModel:
    """An attribute that differs between ranks or is the same on all (`accelerator.is_main_process`, `mesh.ndim`)."""

    name: str
    library: str
    receiver: str | None = None
    axes: tuple[str, ...] = ()
    #: never left to a default: an entry that forgets it would say something of its attribute all the same
    returns: str
    #: kind of divergence when returns = "divergent"
    kind: str = ""
    event: str | None = None
    #: what a library's loop does where this is set, which all ranks have to do together
    assigned: str | None = None
    #: dotted name of the library class that it holds an instance of
    makes: str = ""
    confidence: str = "high"


@dataclass(frozen=True, slots=True)
class ClassModel:
    """A class of a library: what its instances are to the analysis.

    `role`: "module" (an nn.Module: forward issues events when sharded), "sharded" (a wrapper whose forward does),
    "ddp", "loader" (iterating it yields local batches), "group" (a process group or mesh), "leaf" (a module without
    parameters: its forward issues nothing), "generation" (what only a model that writes asks, once for each token).
    """

    name: str
    library: str
    role: str
    axes: tuple[str, ...] = ()
    #: dotted name of the modelled class whose methods it has
    base: str = ""


@dataclass(frozen=True, slots=True)
class Convention:
    """A naming convention, at most medium confidence. `pattern` is a regular expression for a whole name.

    `what`: "axis" (a group / mesh / rank name tells its axes), "rank" (a value that differs by rank), "uniform" (a
    flag or count that is the same everywhere: world sizes, configuration), "initialized" (true once there is more
    than one rank), "batch" (a parameter holding a local batch), "data" (a tensor of local data in a module's
    forward), "content" (one that a batch holds, and not what a layer has made of it), "optional" (an input some
    batches lack), "ragged" (padded to a length that the local batch decides),
    "tokens" (the same, if it is sliced by one token), "tensor" (of the local batch wherever it is a parameter),
    "loader" (yields local batches), "module" (a module), "group" (a process group), "local_size" (an attribute
    holding the size of the local batch).
    """

    what: str
    pattern: str
    axes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One checked model file."""

    library: str
    path: str
    calls: tuple[CallModel, ...] = ()
    attributes: tuple[AttributeModel, ...] = ()
    classes: tuple[ClassModel, ...] = ()
    conventions: tuple[Convention, ...] = ()
    #: other dotted prefixes under which the library's names are imported ("torch.distributed.distributed_c10d.")
    aliases: tuple[tuple[str, str], ...] = ()
