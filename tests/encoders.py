"""Small encoders with random weights, as ONNX files."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

LETTERS = "abcdefghijklmnopqrstuvwxyz,."
WIDTH, POSITIONS = 8, 64


def write_encoder(
    folder,
    layers=2,
    seed=0,
    named="nodes",
    norm="post",
    rounds=False,
    to=onnx.TensorProto.FLOAT,
    outputs=("pooled", "hidden"),
    more_inputs=(),
    skips=False,
):
    """A folder with a transformer; each letter is a piece.

    named: What has names with the layer: "nodes", "weights" or nothing.
    norm: Whether norms are before or after a sum: "pre", "post".
    rounds: Whether numbers are rounded by the largest one of a batch.
    skips: Whether embeddings are added to what all layers give.
    """
    nodes, weights = [], {}
    rng = np.random.default_rng(seed)

    def node(op, *inputs, scope="", **attributes):
        output = f"t{len(nodes)}"
        name = f"{scope}{op}_{len(nodes)}" if scope else ""
        made = onnx.helper.make_node(op, inputs, [output], name=name, **attributes)
        nodes.append(made)
        return output

    def weight(name, *shape):
        weights[name] = rng.normal(0, 1, shape).astype("f") if shape else np.int64(1)
        return name

    vectors = node("Gather", weight("words", 2 * len(LETTERS) + 3, WIDTH), "input_ids")
    n = node("Gather", node("Shape", "input_ids"), weight("one"))
    weights["zero"] = np.int64(0)
    places = node("Range", "zero", n, "one")
    positions = node("Gather", weight("positions", POSITIONS, WIDTH), places)
    x = node("Add", vectors, positions)
    if rounds:
        rounded = ["q", "s", "z"]
        nodes.append(onnx.helper.make_node("DynamicQuantizeLinear", [x], rounded))
        x = node("DequantizeLinear", "q", "s", "z")
    embeddings = x
    for k in range(layers):
        scope = f"/encoder/layer.{k}/" if named == "nodes" else ""
        prefix = f"encoder.layer.{k}." if named == "weights" else f"w{k}_"

        def normed(x, scope=scope, prefix=prefix):
            gain = weight(f"{prefix}norm", WIDTH)
            return node("LayerNormalization", x, gain, scope=scope)

        read = normed(x) if norm == "pre" else x
        query = node("MatMul", read, weight(f"{prefix}query", WIDTH, WIDTH))
        scores = node("MatMul", query, node("Transpose", read, perm=[0, 2, 1]))
        context = node("MatMul", node("Softmax", scores, axis=-1), read)
        context = node("Add", context, weight(f"{prefix}bias", WIDTH), scope=scope)
        x = node("Add", x, context, scope="" if norm == "pre" else scope)
        x = normed(x) if norm == "post" else x
    x = node("Add", x, embeddings) if skips else x
    made = {
        "pooled": lambda: node("ReduceMean", x, axes=[1], keepdims=0),
        "hidden": lambda: node("Cast", x, to=to),
    }
    for name in outputs:
        made[name]()
        nodes[-1].output[0] = name
    inputs = ("input_ids", "attention_mask", *more_inputs)
    ints, floats = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    info = onnx.helper.make_tensor_value_info
    shapes = {"pooled": (floats, ["n", WIDTH]), "hidden": (to, ["n", "m", WIDTH])}
    graph = onnx.helper.make_graph(
        nodes,
        "encoder",
        [info(name, ints, ["n", "m"]) for name in inputs],
        [info(name, *shapes[name]) for name in outputs],
        [onnx.numpy_helper.from_array(x, name) for name, x in weights.items()],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    write_tokenizer(folder / "tokenizer.json")
    return folder


def write_tokenizer(path):
    special = ["[UNK]", "[CLS]", "[SEP]"]
    pieces = [*special, *LETTERS, *(f"##{x}" for x in LETTERS)]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocab, unk_token="[UNK]")
    )
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_padding(length=POSITIONS)  # not of ours
    tokenizer.save(str(path))


def of_pieces(folder, *words):
    """The vectors of the pieces of words, without those of the marks around them."""
    import onnxruntime

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    ids = np.array([tokenizer.encode(" ".join(words)).ids])
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return session.run(["hidden"], feeds)[0][0, 1:-1]
