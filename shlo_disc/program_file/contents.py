"""The members of a program's file that hold artifacts: what is in them, and what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import cast

from shlo_disc import codec
from shlo_disc.artifact import Artifact, change_artifacts
from shlo_disc.host_ir import Constant
from shlo_disc.program_file.tensors import StoredTensor
from shlo_disc.report_model import ReportModel


def without_constants(artifact: Artifact) -> tuple[Artifact, Mapping[str, StoredTensor]]:
    """The artifact without the bytes of its literals, and these by the numbers of artifact and literal."""
    found, numbers = dict[str, StoredTensor](), count()

    def emptied(one: Artifact) -> Artifact:
        number, constants = next(numbers), list[Constant]()
        for k, constant in enumerate(one.constants):
            found[f"{number}.{k}"] = StoredTensor(constant.dtype, constant.shape, constant.data)
            constants.append(replace(constant, data=b""))
        return replace(one, constants=tuple(constants))

    return change_artifacts(artifact, emptied), found


def with_constants(artifact: Artifact, found: Mapping[str, StoredTensor]) -> Artifact:
    """The artifact with the bytes of its literals. Raises `KeyError` if one is missing."""
    numbers = count()

    def filled(one: Artifact) -> Artifact:
        number = next(numbers)
        data = [cast("bytes", found[f"{number}.{k}"].data) for k in range(len(one.constants))]  # it is only read
        return replace(one, constants=tuple([replace(x, data=d) for x, d in zip(one.constants, data, strict=True)]))

    return change_artifacts(artifact, filled)


def encode_program(artifact: Artifact) -> bytes:
    """The bytes of what runs a program: without reports and the texts of sources."""

    def stripped(one: Artifact) -> Artifact:
        kernels, host = tuple([replace(file, text="") for file in one.kernels]), replace(one.host, text="")
        return replace(one, report=ReportModel(), kernels=kernels, host=host)

    return codec.encode(Artifact, change_artifacts(artifact, stripped))
