"""python -m spacy hosemi onnx: the lower layers of an encoder."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy
from typing import TYPE_CHECKING

from ..model.onnx_encoder import find_files
from . import hosemi_cli
from . import options as shared
from .options import argument, check_output_folder, option
from .streams import check_outputs, fail, open_output, say

if TYPE_CHECKING:
    from onnx import GraphProto

# The layer in the name of a node or weight: /encoder/layer.3/output/Add, h.3.mlp.bias,
# bert/encoder/layer_._3/attention.
_LAYER = re.compile(r"(?:^|[._/])(?:layers?|blocks?|h)[._/]*(\d+)(?=[._/])")
_BESIDE = re.compile(r"tokenizer\.json|(licen[cs]e|notice|copying)(\W.*)?", re.I)


@hosemi_cli.command("onnx", no_args_is_help=True)
def onnx_cli(
    folder: Path = argument("FOLDER", "Folder of an ONNX file and tokenizer.json."),
    output: Path = argument("OUT", "Folder to write to.", callback=check_output_folder),
    layer: int = option("--layer N 1..", "How many layers to keep.", ...),
    overwrite: shared.Overwrite = False,
) -> None:
    """
    Cut a transformer for spacy_hosemi.OnnxEncoder.v1 after its first N layers: vectors
    from the middle are often better for spans than the last ones, and take less time.

    The names of nodes and weights tell the layers, also in quantized and optimized
    files. OUT gets model.onnx with its weights, tokenizer.json and the licence if there
    is one. Needs the package onnx; a pipeline does not.

    \b
    Examples:
      python -m spacy hosemi onnx minilm minilm-4 --layer 4
    """
    try:
        import onnx
        from onnx.utils import Extractor
    except ImportError:
        fail("The package onnx is not installed", "Install it: pip install onnx")
    path = str(find_files(folder)[0])
    check_outputs({"FOLDER": path}, {"OUT": output / "model.onnx"}, overwrite)
    try:
        model = onnx.load(path)
    except Exception as e:  # of protobuf, or of weights in a file beside
        fail(f"Cannot read {path!r}", f"Expected an ONNX file; {e!r}"[:200])
    hidden, n_layers = _find_hidden(model.graph, layer, path)
    model.graph.value_info.insert(0, onnx.ValueInfoProto(name=hidden))
    inputs = [x.name for x in model.graph.input]
    data = Extractor(model).extract_model(inputs, [hidden]).SerializeToString()
    output.mkdir(parents=True, exist_ok=True)
    for beside in folder.iterdir():
        if _BESIDE.fullmatch(beside.name):
            copy(beside, output)
    with open_output(output / "model.onnx", overwrite, binary=True) as file:
        file.write(data)
    mb = f"{len(data) / 1e6:.1f} MB"
    say(f"Wrote {layer} of {n_layers} layers to {output}, {mb}")


def _find_hidden(graph: GraphProto, n_kept: int, path: str) -> tuple[str, int]:
    """Returns the name of the tensor between a layer and the next one, and the number
    of layers; exits with a message if there is no such tensor."""
    nodes, constant = [*graph.node], {"", *(x.name for x in graph.initializer)}
    layers: list[int] = []  # of each node; -1: of none
    for node in nodes:
        names = constant.intersection(node.input)
        is_constant = len(names) == len({*node.input})
        constant.update(node.output if is_constant else ())
        told_by = [node.name] if _LAYER.search(node.name) else names
        found = [
            int(x[1]) for x in map(_LAYER.search, told_by) if x and not is_constant
        ]
        layers.append(max(found, default=-1))
    known = sorted({*layers} - {-1})
    if len(known) < n_kept:
        there = f"{len(known)} layers" if known else "no layers that have names"
        fail(f"{path!r} has {there}", f"--layer {n_kept} expects {n_kept}, or more.")
    here, *later = known[n_kept - 1 : n_kept + 1]
    begin, end = layers.index(here), layers.index(later[0]) if later else len(nodes)
    last = max((i for i in range(begin, end) if layers[i] == here), default=end)
    # What only shapes are taken of is not needed: one layer may take them for others.
    reads = [{*x.input} if x.op_type != "Shape" else set() for x in nodes]
    last_read = {x: i for i, names in enumerate(reads) for x in names}
    last_read |= {graph.output[0].name: len(nodes), "": -1}
    vectors = {"input_ids"}  # and what is computed from them
    for i, node in enumerate(nodes[:end]):
        if vectors & reads[i]:
            vectors.update(node.output)
        waiting = [x for x in vectors if last_read.get(x, -1) > i]
        if i >= last and len(waiting) == 1:
            return waiting[0], len(known)
    expected = "Expected one tensor from which all that comes later is computed."
    fail(f"There is no hidden state after layer {n_kept} of {path!r}", expected)
