"""Small encoders with random weights, as ONNX files."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

LETTERS = "abcdefghijklmnopqrstuvwxyz,."
WIDTH, POSITIONS = 8, 512


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
    nodes, weights = [], {"zero": np.int64(0), "one": np.int64(1)}
    rng = np.random.default_rng(seed)

    def node(op, *inputs, scope="", outputs=(), **attributes):
        outputs = outputs or [f"t{len(nodes)}"]
        name = f"{scope}{op}_{len(nodes)}" if scope else ""
        nodes.append(onnx.helper.make_node(op, inputs, outputs, name, **attributes))
        return outputs[0]

    def weight(name, *shape):
        weights[name] = rng.normal(0, 1, shape).astype("f")
        return name

    vectors = node("Gather", weight("words", 2 * len(LETTERS) + 3, WIDTH), "input_ids")
    places = node("Gather", node("Shape", "input_ids"), "one")
    places = node("Range", "zero", places, "one")
    places = node("Gather", weight("places", POSITIONS, WIDTH), places)
    x = node("Add", vectors, places)
    if rounds:
        node("DynamicQuantizeLinear", x, outputs=["q", "s", "z"])
        x = node("DequantizeLinear", "q", "s", "z")
    embeddings = x
    for k in range(layers):
        scope = f"/encoder/layer.{k}/" if named == "nodes" else ""
        prefix = f"encoder.layer.{k}." if named == "weights" else f"w{k}_"
        gain = weight(f"{prefix}norm", WIDTH)
        read = x
        if norm == "pre":
            read = node("LayerNormalization", x, gain, scope=scope)
        query = node("MatMul", read, weight(f"{prefix}query", WIDTH, WIDTH))
        scores = node("MatMul", query, node("Transpose", read, perm=[0, 2, 1]))
        context = node("MatMul", node("Softmax", scores, axis=-1), read)
        context = node("Add", context, weight(f"{prefix}bias", WIDTH), scope=scope)
        x = node("Add", x, context, scope="" if norm == "pre" else scope)
        if norm == "post":
            x = node("LayerNormalization", x, gain, scope=scope)
    x = node("Add", x, embeddings) if skips else x
    node("ReduceMean", x, axes=[1], keepdims=0, outputs=["pooled"])
    node("Cast", x, to=to, outputs=["hidden"])
    types = {"pooled": (onnx.TensorProto.FLOAT, ["n", WIDTH])}
    types["hidden"] = to, ["n", "m", WIDTH]
    names = "input_ids", "attention_mask", *more_inputs
    types |= {name: (onnx.TensorProto.INT64, ["n", "m"]) for name in names}
    graph = onnx.helper.make_graph(
        nodes,
        "encoder",
        [onnx.helper.make_tensor_value_info(x, *types[x]) for x in names],
        [onnx.helper.make_tensor_value_info(x, *types[x]) for x in outputs],
        [onnx.numpy_helper.from_array(x, name) for name, x in weights.items()],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    marks = ["[UNK]", "[CLS]", "[SEP]"]
    pieces = [*marks, *LETTERS, *(f"##{x}" for x in LETTERS)]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    word_piece = tokenizers.models.WordPiece(vocab, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(word_piece)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_padding(length=POSITIONS)  # not of ours
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def of_pieces(folder, *words):
    """The vectors of the pieces of words, without those of the marks around them."""
    import onnxruntime

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    ids = np.array([tokenizer.encode(" ".join(words)).ids])
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return session.run(["hidden"], feeds)[0][0, 1:-1]
