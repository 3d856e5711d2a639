"""Where the nodes of a concrete syntax tree stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider


def places(module: cst.Module) -> Mapping[cst.CSTNode, CodeRange]:
    """The range of every node below `module`, in lines from 1 and columns from 0; parentheses are not part of it.

    What libcst's own `resolve` says, without the visitor that it sends through the tree for other providers.
    """
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    return cast("Mapping[cst.CSTNode, CodeRange]", PositionProvider()._gen(wrapper))
