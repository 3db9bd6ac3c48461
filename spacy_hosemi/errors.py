"""Every message of the package, by code. Imports nothing.

A message names the argument, what was found, what was expected and what to do.
"""


class _Coded(type):
    """Prefix a message with its code when it is read, on one line: ``Errors.HS001``."""

    def __getattribute__(cls, name: str) -> str:
        value = super().__getattribute__(name)
        is_message = name.startswith("HS")
        return f"[{name}] {' '.join(value.split())}" if is_message else value


class Errors(metaclass=_Coded):
    # core: automaton
    HS001 = """labels is {found}; expected at least one name, all different, none of
    them '^' or '$' (these stand for the begin and the end in patterns)."""
    HS002 = """pattern {pattern} has {found} names; expected 2 to {highest}. A
    preference for a single label belongs in the start potentials."""
    HS003 = "pattern {pattern} has the unknown label {found}; labels are {expected}."
    HS004 = """pattern {pattern} has {found!r} inside; '^' (begin) may only stand first
    and '$' (end) only last."""
    HS005 = "pattern {pattern} is given twice; each pattern has one weight."
    HS006 = """observed pattern {found} ends in '$'; expected a label there, since it is
    a segment that reads its column. Give it as a plain pattern."""
    HS007 = """automaton bytes cannot be read ({found}); expected those of
    PatternAutomaton.to_bytes()."""
    # core: potentials and constraints
    HS010 = """{name} has shape {found}, expected {expected}. Was it made for another
    automaton or another document?"""
    HS011 = """{name} has {found} at {where}; expected numbers from {lowest:g} to
    {highest:g}, or -inf, which forbids. Divide all scores by a number, or put -inf
    where a large negative score should forbid."""
    HS012 = """{name} has type {found}; expected {expected}. Convert it with
    numpy.asarray(..., dtype=...)."""
    HS013 = """cell ({start}, {end}) with column {column} does not fit a document of
    {n_tokens} tokens and {n_columns} columns; expected 0 <= start < end <= {n_tokens}
    and 0 <= column < {n_columns}."""
    HS014 = "max_length is {found}; expected {expected}."
    HS015 = "n_tokens is {found}; expected {expected}."
    HS016 = "constraints.{name} has shape {found}, expected {expected}."
    HS017 = """constraints.boundary has the value {found}; expected -1 (no boundary), 0
    (free), 1 (boundary) or 2 (no entity crosses)."""
    HS018 = """constraints.forbidden has {found}; expected (start, end, label) with 0 <=
    start < end <= {n_tokens} and label from -1 (any but outside) to {last}."""
    HS019 = "{name} is {found}; expected {expected}."
    # core: segmentations and probabilities
    HS020 = """segments {found} do not cover {n_tokens} tokens from left to right;
    expected (start, end, label) with each start equal to the end before it."""
    HS021 = "label is {found}; expected a label index from 0 to {last}."
    HS022 = "probability p is {found}; expected a number above 0 and at most 1."
    HS023 = "{name} is {found}; expected one of {expected}."
    HS104 = """method is "nonnegative" and {name} has {found} for {pattern}; expected 0
    or more for all label patterns of three or more names, observed ones included. Use
    method = "auto" or "automaton", or weights that are not negative."""
    HS024 = """segment ({start}, {end}) does not lie within {n_tokens} tokens; expected
    0 <= start < end <= n."""
    HS124 = """potentials give all segmentations together a log sum of {found:g};
    expected -{limit:g} to {limit:g}, since sums of such a size are rounded by more than
    the differences that decide. Divide all scores by a number, or put -inf where a
    large negative score should forbid."""
    # core: label grammar
    HS070 = """{name} is {found}; expected {expected} such as 'A at most once', 'A at
    least twice', 'A exactly 3', 'A never before B', 'A only after B', 'A never directly
    after B' or 'A only directly before B'. A and B are labels, or several joined by '
    or '; a count is once, twice or a whole number. Write it in one of these forms."""
    HS071 = """{name} is {found!r} and has the unknown label {label!r}; labels are
    {expected}. Correct the name, upper and lower case differ, or add the label."""
    HS072 = """{name} is {found!r}, which can be read in more than one way: {readings};
    expected one meaning. Rename one of these labels."""
    HS073 = """rules {found} contradict each other; expected that at least one sequence
    of labels satisfies them all. Without the last there is one: remove or relax one."""
    HS074 = """rules {found} need {states} states or more; expected at most {limit}.
    Each label that is counted alone multiplies the states: lower the counts, remove
    rules, or count labels together, as in 'A or B at most twice'."""
    HS025 = """entry with position {position}, role {role} and column {column} does not
    fit a document of {n_tokens} tokens and {n_columns} columns; expected 0 <= position
    < {n_tokens}, 0 <= column < {n_columns}, and as role 0 (inside), 1 (start) or 2
    (end)."""
    HS026 = "{name} is {found}; expected {expected}."
    HS027 = """no segmentation is possible under the potentials and constraints, so
    there is nothing to sample. log_partition is -inf then."""
    HS028 = """constraints has {found} members for {expected} documents; expected None,
    or one (which may be None) for each document."""
    HS075 = """the grammar was compiled for the labels {found}, the automaton has
    {expected}; expected the same labels in the same order."""
    HS076 = """{found} label histories and {rules} states of the grammar give more than
    {limit} states; use fewer patterns or simpler rules."""
    # features
    HS030 = """feature template {found!r} cannot be read; expected attributes joined by
    ' & ', each with an offset or a window where wanted: 'LOWER', 'SHAPE[-2:2]',
    'LOWER{{-30:30}}', 'LOWER[-1] & LOWER'. A window may only stand alone. Offsets are
    from -1000 to 1000."""
    HS031 = """feature template {template!r} reads the unknown attribute {found!r};
    known are {expected}."""
    HS032 = "features.preset is {found}; expected {expected}."
    HS033 = "features.{name} is {found}; expected {expected}."
    # features: gazetteer files
    HS080 = """path is {path}, which does not exist; expected a file of entries. Correct
    it; a relative path starts at the working directory."""
    HS081 = """path is {path}, {found}; expected a file that ends in one of {expected},
    or in one of these and .gz. Rename or convert it."""
    HS082 = """{path} has no entry for {wanted}; expected at least one that is not
    blank. Check the file and these two arguments."""
    HS083 = """{path}, line {line} has the bytes {found}, which are not {encoding};
    expected text in that encoding. Set encoding to that of the file, such as latin1 or
    cp1252, or convert the file."""
    HS084 = """{path}, line {line} has no column {column!r}; found {found}. Give a name
    from the first row, or an index from 0 (a number without quotes) if the file has no
    names there, and complete rows that are too short."""
    HS085 = """{path}, line {line}: {found}; expected {{"label": "ORG", "pattern":
    "Apple"}} or, as the pattern, a list of tokens such as [{{"LOWER": "san"}},
    {{"LOWER": "francisco"}}], where each token has exactly one key of {expected} and a
    plain string as its value, no operator, regular expression or set. Write the names
    out or remove the line."""
    HS086 = "{name} is {found!r} for {path}; expected {expected}. Change or remove it."
    HS087 = """{path} cannot be decompressed ({found}); expected a complete gzip file,
    as its name ends in .gz. Copy it again or rename it."""
    HS088 = """{path}, the row that begins in line {line} cannot be read ({found});
    expected a cell with quotes, delimiters or line ends in double quotes, and each
    quote in it doubled. Correct the row, or keep the entries in a .txt file."""
    HS314 = """{path} has more than {most:,} bytes when it is decompressed; expected at
    most {times} times its size, plus 64 MB. If it is right, decompress it by gunzip,
    and give that file."""
    HS315 = """{path}, line {line} has more than {most:,} characters; expected an entry.
    Divide the line, or correct what ends lines in the file."""
    HS089 = """gazetteer.fuzzy.similarity is "edit", and rapidfuzz, which compares
    strings, is not installed; expected it. Install it: pip install rapidfuzz, or choose
    "jaccard" or "cosine"."""
    HS034 = "gazetteer.{name} is {found}; expected {expected}."
    HS036 = """feature template {found!r} stands in the role {role}, but {reason}; see
    the documentation of templates."""
    HS035 = """{what} in the model are {found}, those in
    [initialize.components.{name}.{what}] are {given}; expected the same names in
    both."""
    HS037 = """model.{what}s.{name} is {found}; expected what @misc =
    "spacy_hosemi.{what}.v1" makes."""
    HS038 = """a {what} is called {found!r}; expected letters, digits, '_' and '-', so
    that feature templates and config sections can name it, and no gazetteer and table
    of one name."""
    HS039 = """a feature template reads _.{name}, but Token has no such extension
    attribute; call Token.set_extension({name!r}, default=None) before the pipeline
    runs."""
    HS048 = """the extension attribute _.{name} of the token {token!r} is {found}, of
    type {type}; expected {expected}, or None. An attribute that features read must have
    one type; convert numbers that are not whole to text, such as '0.5'."""
    HS049 = """feature template {found!r} reads more than one list; expected at most one
    ':MATCH' in a template."""
    # features: functions
    HS105 = """features.functions.{name} is {found}; expected a function that takes a
    Doc and returns a list of features for each token. Register a function that returns
    it with @spacy.registry.misc, and name that function with @misc."""
    HS106 = """a feature function is called {found!r}; expected letters, digits, '_' and
    '-', and not the name of an attribute, a gazetteer or a table: the names of their
    features would be the same. Rename it."""
    HS107 = """features.functions.{name} returned {found} for the document that begins
    with {text!r}; expected a list of {expected}, a list for each token."""
    HS108 = """features.functions.{name} lists {found} at token {i}, {token!r}, of the
    document that begins with {text!r}; expected a list, and in it strings or pairs of a
    string and a number, or a dict as pycrfsuite.ItemSequence takes it."""
    HS109 = """features.functions.{name} gives {feature!r} the value {found} at token
    {i}, {token!r}, of the document that begins with {text!r}; expected a number from
    -1e100 to 1e100. Leave the feature out where there is none."""
    HS110 = """features.functions.{name} lists {found} at token {i}, {token!r}, of the
    document that begins with {text!r}; expected what pycrfsuite.ItemSequence takes: a
    dict whose keys are strings and whose values are numbers, booleans, strings, or
    again lists, sets or dicts, at most 50 in each other. Convert other values to
    strings."""
    HS383 = """features.function_roles has {found!r}, and
    [components.hosemi.model.features.functions] has {expected}; expected the name of a
    function there. Add the block [..features.functions.{found}]; functions of segments
    have no roles."""
    HS387 = """features.{name} raised {found},{where} for the document that begins with
    {text!r}; expected that it returns {expected}. Mend it for such documents."""
    HS388 = """features.functions.{name} listed {expected} features, and {found} when it
    was called again for the same documents, to name them; expected the same."""
    HS384 = """the vocabulary has no vectors, which spacy_hosemi.WordVectors.v1 reads.
    Name some as [initialize] vectors, such as en_core_web_md or a folder of `python -m
    spacy init vectors`, or load a pipeline that has them."""
    HS385 = """a fit takes vectors as they are, and {found!r}, in the tok2vec of
    {name!r}, has parameters of its own. Train online: leave out
    [initialize.components.{name}.fit], see configs/neural.cfg; or use
    spacy_hosemi.WordVectors.v1, spacy_hosemi.OnnxEncoder.v1, or a listener to a frozen
    component."""
    HS386 = """a fit takes vectors as they are, and the tok2vec of {name!r} listens to
    {found!r}, which {reason}. Take a trained one, [components.tok2vec] source =
    "PIPELINE", in front of {name!r}, and name it in both training.frozen_components and
    training.annotating_components."""
    HS389 = """the tok2vec gives {found} for the document {text!r}; expected numbers, of
    the shape {expected}. Mend the vectors, or the component that it listens to."""
    HS390 = """the model was trained with other word vectors than this vocabulary has,
    whose shape is {found}. Use it with the vocabulary that it was trained or saved
    with, as it was then, or train it anew."""
    HS393 = """features.segment_functions has {name!r}: {found}; expected a function
    f(doc, starts, ends), under a name of capital letters, digits and '_' that no
    attribute, list, table or other function has. Rename it, or name a registered
    function that returns it with @misc."""
    HS394 = """features.segment_functions.{name} returned {found} for the document that
    begins with {text!r}; expected a list with a string, a whole number, a boolean or
    None for each segment, here {expected}."""
    HS395 = """features.segment_functions has {found} and encoding is {encoding!r};
    expected "segments", which alone reads them. Change it, or remove the functions."""
    HS396 = """vectors is {found!r}: {problem}; expected a package that is installed
    (as by `python -m spacy download en_core_web_md`), or a folder, with word
    vectors, or a folder with model.onnx and tokenizer.json. `python -m spacy init
    vectors LANG FILE FOLDER` makes the first of a text file; `python -m spacy
    hosemi onnx` cuts an encoder."""
    HS397 = """the vectors {name!r} are of the language {found!r}; expected those of the
    config, {expected!r}. Leave lang out, or make them anew: `python -m spacy init
    vectors {expected} FILE FOLDER`."""
    HS398 = """spacy_hosemi.averaged.v1 trains the weights of features alone, and the
    model has a tok2vec; expected the fit spacy_hosemi.lbfgs.v1. Name it, or set
    model.tok2vec = null."""
    HS111 = """the saved model has weights for what the feature functions {expected}
    list, and features.functions and segment_functions of the config have {found}. Name
    them all there, under the same names; their code comes with --code, or is imported
    before."""
    HS112 = """observed_patterns has {found}; expected two or more names in a list, each
    a label, of {expected}, or "*", "*1", "*2" .. for any; "^" may stand first."""
    HS113 = """the segments of a lattice do not fit: expected arrays of one length,
    offsets from 0 to it, in each document 0 <= start < end <= its tokens, sorted by
    end, and labels of the automaton."""
    HS114 = """the rows of a label tree's nodes do not fit: expected tokens and nodes
    that exist, and one score for each child."""
    HS115 = """the label tree has a cycle: {found}. Expected each label to have one
    parent, up to one that has none; take out one of these lines."""
    HS116 = """{child!r} has two parents in the label tree, {found!r} and {other!r};
    expected one. Take out one of the lines, or set second_parent = "ignore" to keep the
    first."""
    HS117 = """the labels {found} are not in the label tree; expected every label as a
    child or a parent in it. Add lines for them."""
    HS118 = """hierarchy needs {expected}, and {found}. Change the one or the other;
    hierarchy = null is for labels without a tree."""
    HS119 = """the label tree of {path}, line {line}, is {found!r}; expected two
    columns, child and parent, with a tab between them."""
    HS077 = "table.{name} is {found}; expected {expected}."
    HS029 = """model.gazetteers.{name}.label is {found!r}; expected one of the labels
    {expected}. Correct it, or name it in [initialize.components.hosemi] labels."""
    # labels
    HS040 = """the label {found!r} cannot be one; expected text that is not empty, and
    not 'O', which is outside, nor '^' or '$', the begin and the end in patterns, and no
    '!' in front: spans that are no entities belong in the group that
    incorrect_spans_key names. Rename it in the training data."""
    HS041 = """the label {found!r} is unknown; labels are {expected}. Give all labels in
    [initialize.components.{name}] labels, or leave that out to collect them from the
    training data."""
    HS042 = "{name} is {found}; expected one of {expected}."
    HS043 = "{name} is {found}; expected {expected}."
    HS044 = """token {index} ({text!r}) is outside all spans, but outside = "none" says
    that every token is in one. Set outside = "run" or "token"."""
    HS046 = """label_rules are set and encoding is {found!r}; expected encoding =
    "segments", where each span is one label. Remove the rules or the encoding."""
    HS047 = """decoding is {decoding!r} and encoding is {found!r}; expected encoding =
    "segments", where each span is one segment. Use decoding = "viterbi" or the
    encoding."""
    HS094 = """the span {text!r} is an entity with the label {label!r} and also one of
    the incorrect spans; expected one of both. Remove it from doc.ents or from the group
    that incorrect_spans_key of the component {name!r} names."""
    HS103 = """the gold span {text!r} with the label {label!r} begins or ends with
    whitespace, which no span that is predicted does; expected words at both ends. Trim
    it in the training data."""
    HS093 = """incorrect_spans_key is {key!r} and encoding is {found!r}; expected
    encoding = "segments", where each span is one segment. Change one of the two."""
    HS090 = """features.{role} names {found} and observed_order is 0; expected 1 or
    more: transitions have weights for label patterns up to this order. Set it, or
    observed_patterns, or remove the templates."""
    HS091 = """min_confidence has a value for the label {found!r}; labels are
    {expected}. Correct the name, upper and lower case differ, or give all labels in
    [initialize.components.{name}] labels."""
    HS320 = """the {found:,} documents have no entity, by which {name!r} could be
    measured. Expected documents with their gold entities."""
    HS092 = """the component {name!r} predicts no entity where the {found} documents are
    annotated, so there is nothing to measure. Check that they have entities, and that
    the pipeline was trained on documents like these."""
    HS120 = """on {path} the whole component {name!r} has F1 0, so it cannot lose any;
    expected documents with entities, and some that it finds. Check that the file has
    spans in doc.ents, with the labels of the component."""
    HS121 = """objective is spacy_hosemi.perceptron.v1, whose gradient has jumps: the
    fit spacy_hosemi.lbfgs.v1, and adapt, stop at the first of them. Set the fit
    spacy_hosemi.averaged.v1, train online by nlp.update, or set the objective to
    spacy_hosemi.log_likelihood.v1."""
    HS122 = """tied is {found}; expected one index for each of the {expected} patterns:
    its own, or that of an earlier pattern with its own index."""
    HS123 = """lang is {lang!r}, for which no installed package has the lookups
    {table!r}; expected one of {expected}. pip install spacy-lookups-data: it has those
    of en, de, es and others."""
    HS190 = """read_package_list.{name} is {found}; expected {expected}. Lists of your
    own are read by spacy_hosemi.read_gazetteer.v1."""
    HS191 = """the list {name!r} is in the package {package}, which is not installed;
    pip install {package}, or remove the list from the config."""
    HS101 = """min_confidence is {found}, and not each of these labels can be a key of a
    config file, such as one with ':' or '='; expected pairs. Write min_confidence =
    {expected}."""
    HS100 = """matplotlib, which draws the picture, is not installed; expected it.
    Install it: pip install matplotlib, or go without the picture."""
    HS150 = """{name} of the component {component!r} is {found!r} and cannot become
    {expected!r}: the weights were made for it. Set it before nlp.initialize(), or add a
    new component with it."""
    HS151 = """min_confidence cannot change in place ({found!r}); expected all of it at
    once. Set hosemi.min_confidence = {{"PER": 0.5, ..}}."""
    # texts
    HS154 = """a text is {found}; expected str. Read files with an encoding, such as
    open(path, encoding="utf8")."""
    HS155 = """these are no settings of a FieldTokenizer; expected {expected}. Load what
    its to_bytes or to_disk wrote; a pipeline that was saved with another tokenizer
    needs that one in its config."""
    # training
    HS050 = """there is no training example; expected documents with entities. Check
    paths.train and corpora.train in the config."""
    HS051 = """none of the {found} training documents has an entity, so there is nothing
    to fit. Check that the spans are in doc.ents (not in doc.spans) of the corpus."""
    HS156 = """no span with the label {label!r} can be reached: all begin or end inside
    a token, such as {text} (labels like it: {all}); expected spans of whole tokens. Use
    a tokenizer that cuts there, such as spacy_hosemi.FieldTokenizer.v1 in
    [nlp.tokenizer], or correct the spans."""
    HS052 = """training.max_epochs is -1, and then spaCy gives no more than 100
    documents to initialize.components.{name}.fit. Set training.max_epochs = 0, or leave
    the fit block out and train online."""
    HS102 = """the component {name!r} is not initialized, so there is nothing to update;
    expected nlp.initialize() before nlp.update(), with examples if there are any."""
    HS053 = """{what} knows the weights of features alone, and the model has a tok2vec.
    Fit with spacy_hosemi.lbfgs.v1, if its vectors are frozen; else train online, see
    configs/neural.cfg; or set components.{name}.model.tok2vec = null."""
    HS054 = """{name} has the unknown penalty group {found!r}; expected some of
    {expected}. Correct the name."""
    HS055 = "the weights have {found} numbers, expected {expected}."
    HS056 = """the gold segmentation of the document that begins with {text!r} is not
    possible under the model: {reason}."""
    HS057 = """the loss is {found} after {steps} steps, not a number.{extreme} Raise
    fit.l2, or look for features with extreme values."""
    HS270 = """{name} is {path!r}: {reason}. Expected a file in a folder that exists.
    Make the folder, or give another path."""
    HS271 = """fit.checkpoint names {path!r}, which this fit cannot read: {reason}.
    Expected one that a fit with this setting wrote, or none. Remove the file to begin
    anew, or give another path."""
    HS272 = """fit.checkpoint names {path!r}, whose weights were fitted to something
    else. {differences}. Expected the labels, features, label patterns and annotation
    that it was written with. Train as then, or remove the file to begin anew."""
    HS300 = """fit.log is {path!r}, {reason}; expected the log of an earlier fit, which
    is replaced, an empty file, or none. Give another path."""
    HS301 = """fit.log is {log!r} and fit.checkpoint is {checkpoint!r}, which is the
    same file; expected two files. Give one of them another path."""
    HS331 = """the number of different documents with spans in doc.ents is {found};
    expected at least {expected}, since settings are chosen by folds of documents."""
    HS332 = "the config that tune begins with cannot be trained: {reason}"
    HS334 = """fit.patience is {found}, and the {n_docs} documents of dev have no
    entities; expected documents that a fit can look at. Set paths.dev, or path of
    [initialize.components.hosemi.dev], or dev of hosemi.fit; or patience = null."""
    HS290 = """fit.l2 is "auto"; expected a number where the fit is called outside of
    the component, which chooses. Try some numbers, from 0.01 to 10."""
    HS305 = """{path} {found}, and the columns of tokens and tags are given. Leave out
    --columns; or give --format columns, if each line has a token and its tag."""
    HS325 = """{path} is of the format {found}, and {option} is given; expected
    {expected}. Leave {option} out."""
    HS180 = """{found} is a document, or a text with spans, and the argument nlp is
    None; expected the pipeline, which tokenizes and annotates it. Pass nlp=nlp."""
    HS181 = """hosemi.fit got {found}; expected settings among {expected}, or a fit
    function as fit= without settings. Settings of the component itself belong in
    nlp.add_pipe(.., config=..). c1 of CRFsuite is l1, c2 is half of l2."""
    HS182 = """{name} has {found}; expected a pair (text, [(start, end, label), ..])
    with 0 <= start < end <= len(text) in characters, no two spans overlapping. Correct
    it; spacy_hosemi.formats.read_annotations reads those of annotation tools."""
    HS230 = """doc is {found}; expected a spaCy Doc. nlp.make_doc(text), or nlp(text),
    makes one of a text."""
    HS231 = "{name} is {found}; expected {expected}. Pass all of them in one list."
    HS232 = """nlp is {found}; expected a pipeline, as spacy.blank or spacy.load makes
    it. Pass the one that has the component."""
    HS233 = """{name}{key} is {found}; expected {expected}. In a config, this is {name}
    in the block [initialize.components] has for the component, and functions are named
    by @readers or @misc."""
    # scikit-learn
    HS183 = """texts is {found}; expected a sequence with a string, a spaCy Doc or a
    list of tokens for each document, such as a list or one column of a data frame."""
    HS184 = """spans is {found}, and there are {expected}; expected for each text a list
    of (start, end, label), an empty one where there is none."""
    HS391 = """{name} has the span {found}; expected (start, end, label) with 0 <= start
    < end <= {expected}, in tokens: the text is a list of tokens."""
    HS392 = """the table is a {found}; expected a Table or RecordBatch of Arrow, such as
    pyarrow.Table.from_pandas(frame) makes."""
    HS185 = """scikit-learn is not installed, and SpanExtractor is one of its
    estimators. Do pip install "scikit-learn>=1.6", or use hosemi.fit without it."""
    HS309 = """pyarrow is not installed, and spacy_hosemi.extract makes its tables.
    Install it with pip install pyarrow, or use nlp.pipe, which needs none."""
    HS310 = """nlp has the components {found}; expected one of them to be a hosemi
    component that is not disabled. Load the pipeline that has it."""
    HS311 = """ids is {found}; Arrow cannot make a column of that: {reason}. Expected
    values of one type, one for each text, such as a list of numbers or strings."""
    HS312 = """ids has {found} values and texts has {expected}; expected one id for each
    text. Leave ids out to number the rows from 0."""
    HS335 = """{argument} is {found!r}, and the table has the columns {columns};
    expected one of these. Give the name of the column."""
    HS336 = """model is {found!r}, and there is nothing at {path}; expected a folder
    with a saved pipeline, an archive of it (.tar.gz or .zip), or an installed package.
    Give a place that each worker sees."""
    HS337 = """model is the archive {path}: {reason}; expected one with the files of a
    saved pipeline, or with one folder that has them. Pack the folder anew."""
    HS316 = """the archive {path} unpacks to {found:,} bytes in {n:,} files, or to more;
    expected at most {most:,} bytes, 100 times its size plus 256 MB, in {most_files:,}
    files. If it is right, unpack it, and give the folder."""
    HS338 = """pyspark is not installed, and spacy_hosemi.spark needs it. Install it
    with pip install "pyspark>=3.5,<5" "pandas<3" pyarrow."""
    HS339 = """df is a {found}; expected a DataFrame of Spark, such as
    spark.read.parquet gives. For tables of Arrow, pandas or polars there is
    spacy_hosemi.extract."""
    HS340 = """the column {name!r} has the type {found}; expected string. Cast it:
    df.withColumn("{name}", df["{name}"].cast("string"))."""
    HS341 = """fit.spark_partitions is {found!r}, and a fit does not run in Spark;
    expected no such setting. Leave it out, and set fit.threads. For more documents than
    one machine can hold see docs/scale.md."""
    HS342 = """{name} is {found}, with which no model is trained any more; expected
    {expected}. Leave it out of the config; train anew a saved model that has it."""
    HS350 = """there is nothing to compare: {found:,} documents have no right span, and
    none is predicted. Expected documents with doc.ents as gold."""
    HS351 = """the documents of both pipelines are not the same: {first:,} and
    {second:,}, or their texts or gold spans differ. Expected the same ones in the same
    order."""
    HS352 = """{found:,} of {total:,} {what} have complete annotation and a probability;
    expected at least {expected:,}: with fewer, even answers without an error are no
    evidence for an error of at most {error:g} at delta = {delta:g}. Annotate more, or
    promise less."""
    HS353 = """{found:,} of {total:,} texts are among those that the model was trained
    or calibrated with, such as {text!r}; expected new ones: on those that it knows a
    model is too often right."""
    HS354 = """the annotation has no label that the pipeline has, but {found}; expected
    some of {expected}. Choose the pipeline that was trained with them."""
    HS355 = """the annotation has no span; expected the spans of each document as
    doc.ents."""
    HS356 = """no threshold could be shown to keep an error of at most {error:g} at
    delta = {delta:g}{label}: {found:,} are too few, or too many of the most probable
    are wrong. {hint}"""
    HS357 = """{found:,} of {total:,} documents have no {name!r} in user_data, and
    --group asks for it; expected it in all. `hosemi convert --group {name}` keeps it;
    or set doc.user_data[{name!r}], and save by DocBin(store_user_data=True)."""
    HS366 = """encoding is {found!r}; expected 'segments': only then every span of gold
    can be judged by itself. Set it in the config that is given."""
    HS367 = """another thread or process (number {found}) writes to {path}, or replaces
    it again and again; expected one at a time. Wait until it has ended, or choose
    another path."""
    HS368 = """{found} documents have no annotation of any token; expected corrections:
    documents with entities, or without any. Give some."""
    HS369 = """{name} is not trained, or has labels in a tree; expected trained labels
    that are in none. Call hosemi.fit(examples) instead, with old examples, too."""
    HS370 = """{name} does not know the labels {found} of the corrections; expected one
    of {near}. Rename them, or give those that are new: labels=[..], --label NAME."""
    HS372 = """{path} has tags of no clear scheme: {found}; expected one for each token,
    all such as B-PER, or PER, (PER* or NE=B-PER, and O outside of spans. Rename the
    others; give levels a column each; or read another column: --columns."""
    HS374 = """{path} is a file of WebAnno with the columns {found}; expected one
    feature of spans. Name its column: --columns token=3,tag=4."""
    HS375 = """{path} has a row for each token and the columns {found}; expected one
    that numbers texts, 'sentence_id', or empty rows between them. Export it so."""
    HS376 = """{path} has spans with offsets in the column {name!r}, such as {found}, as
    CSV of Label Studio has; expected values as they stand in the text. Export JSON."""
    HS377 = """{path} has an element for each word, and {found:,} of {total:,} stand
    behind one of the same name; expected to be told if these are one span. Give --join
    if they are, --no-join if not."""
    HS378 = """onnxruntime or tokenizers is not installed, which
    spacy_hosemi.OnnxEncoder.v1 needs. Install both with pip install
    "spacy_hosemi[onnx]"."""
    HS379 = """{path!r} {found}; expected a folder with a tokenizer.json and one ONNX
    file, or one named model.onnx. Set model.tok2vec.folder of the component to one, as
    in spacy.load(MODEL, config={{"components.hosemi.model.tok2vec.folder": FOLDER}}); a
    model with store = true needs none."""
    HS380 = """the encoder in {path!r} cannot be used: {problem}. Expected a file with
    its weights (hosemi onnx writes such) that needs at most input_ids, attention_mask
    and token_type_ids and gives floats [documents, pieces, width], its tokenizer.json,
    and a window that it can read, as 128."""
    HS381 = """the encoder in {path!r} has the SHA-256 {found}.., and the model was
    trained with {expected}..; expected the same files. Set model.tok2vec.folder to
    where they are, or train again; store = true saves them with the model."""
    HS186 = """config has {found}, which are parameters of SpanExtractor; expected each
    setting in one place. Give them as parameters."""
    HS234 = """{name} is {found}; expected a block of settings by name, as the config
    has them, such as config={{"max_length": 50, "model": {{"features": {{..}}}}}}."""
    HS235 = """lang is {found}; expected the code of a language that spaCy has, such as
    "en", "de" or "zh"; "xx" is for all others."""
    # prediction and persistence
    HS060 = """no segmentation of the document that begins with {text!r} is possible
    under {constraints}. Relax one of them."""
    HS061 = """{path} is missing; expected a model folder with cfg and the files that
    cfg names, as to_disk writes it."""
    HS062 = """the saved model cannot be read ({found}). The file is truncated or
    something else, or the config has another block model than it was saved with; copy
    it again, mend the config, or train anew."""
    HS063 = """the model was saved in format {found}, this version of spacy_hosemi reads
    format {expected}. A newer format needs pip install -U spacy_hosemi; a model older
    than version 0.2.0 must be trained anew."""
    HS313 = """the saved model has the number {found} in {name}; expected finite
    numbers. It was damaged, or training has failed: copy it again, or train anew."""
    HS064 = """cfg and weights of the component do not fit together: {found}. They
    belong to different models."""
    HS095 = """{name} has {found}, {reason}; expected (start, end, label) or a Span of
    this document, with whole numbers 0 <= start < end <= {n_tokens}, in tokens, and no
    whitespace at the ends of what is kept. Correct or remove it."""
    HS096 = """{name} has {found}: this label is unknown; expected one of
    {expected}{more}. Correct it."""
    HS097 = """{name} has {found} and {other}, which overlap; expected spans that can be
    entities together. Remove one of them."""
    HS098 = """keep has {found}, and forbid has it too; expected it in one of them.
    Remove it from the other."""
    HS317 = """the labels of the component {name!r} are in a tree and have a tok2vec, or
    too many weights to be decoded at once; expected labels without a tree, or a tree
    without either. Train without tok2vec, or with fewer features."""
    HS318 = """the document {text!r} was not predicted by {name!r}, or its tokens are
    others now; expected one that it was applied to. Call nlp(text) first."""
    HS099 = """spans_threshold is set, spans_key is {key!r} and encoding is
    {encoding!r}; expected a spans_key under which the spans are written, and encoding =
    "segments", where each span is one segment. Set both, or spans_threshold = null."""
    HS067 = """scope is "sents" and the document that begins with {text!r} has no
    sentence starts. Add a component before this one that sets them, such as
    nlp.add_pipe("sentencizer"), and name it in [training] annotating_components to
    train; or set scope = "doc"."""
    # annotated texts in files
    HS160 = """{path} {found}; expected a file with annotated texts, a folder that holds
    some, or '-' for standard input."""
    HS161 = """encoding is {found!r}, which Python does not know; expected a name such
    as 'utf-8', 'latin-1' or 'cp1252'."""
    HS162 = """{path} has no column {name!r}; its columns are {found}. Rename or name
    one: for texts by --column in parse, --text-key in convert; for fields by
    --fields."""
    HS163 = """{path} has {found} faults, the first is {first}. Expected none: correct
    them, or read what is good by spacy_hosemi.formats.read_annotations."""
    HS164 = "{name} is {found!r}; expected one of {expected}."
    HS165 = """{path} {found}; expected one of the formats {names}. Name it: --format
    NAME."""
    HS166 = "dev is {found}; expected a share of the texts above 0 and below 1: 0.1."
    HS167 = """group is {name!r}, which no text has; keys of the texts are {found}. Name
    one."""
    HS168 = """there are {found} groups by {key}; expected two or more, to divide them.
    Give more texts, another group, or no share for dev."""
    HS169 = """no tokenizer can be made of {path}: {reason}. Expected a config with
    [nlp], such as one for `spacy train`."""
    HS170 = """BibTeX and CSL need the library {found!r}, which is not installed. Do pip
    install "bibtexparser>=2.0.1,<3" "pylatexenc>=2.10"; or choose -F csv."""
    HS210 = """columns is {found!r}; expected the numbers of the columns with tokens and
    tags, from 1, such as 'token=1,tag=4'; -1 is the last column."""
    HS250 = """{path} is no .spacy file that can be read ({found}); `python -m spacy
    hosemi convert` makes such files."""
    HS251 = """{path} has no document that can be read: {found}. Expected annotated
    documents; `python -m spacy hosemi convert` says in which formats."""
    HS252 = """no pipeline can be made of the config {path}: {found}. Expected one for
    `spacy train`; `python -m spacy hosemi init` writes some."""
    HS253 = """the config {path} has the components {found}; expected one that is made
    by the factory "hosemi"."""
    HS254 = """expected the fit {expected} in the config, found {found}; other fits are
    neither tuned nor estimated. Give [initialize.components.NAME.fit]; check runs
    without it by --quick."""


class Warnings(metaclass=_Coded):
    HSW60 = """the fit was interrupted after {n} {unit}, at a loss of {loss:.2f}. The
    best weights so far are kept, and training goes on with them; another Ctrl-C stops
    it.{advice}"""
    HSW61 = """the fit has not converged: it stopped after {n} iterations, fit.max_iter.
    The last iteration lowered the loss ({loss:.2f}) by {change:.1e} of it;
    fit.tolerance is {tolerance:g}. Set fit.max_iter = {more}.{advice}"""
    HSW62 = """fit.checkpoint: {path!r} cannot be written ({reason}). The fit goes on;
    if it is stopped, it can go on from the last file that was written, if any. Make
    room, or name another place."""
    HSW63 = """fit.log: {path!r} cannot be written ({reason}). The fit goes on without a
    log. Make room, or name another place."""
    HSW70 = """fit.l2 = "auto": there are no other documents with spans to choose by; l2
    is {l2}. Give more documents, or some as dev."""
    HSW71 = """the features of the training documents are too many for memory, and the
    next {size:.0f} MB cannot be written to a temporary file ({reason}). They stay in
    memory. Make room, or set the environment variable TMPDIR to another folder."""
    HSW78 = """fit.l2 = "auto": none of the {total} documents of dev has a span with a
    label of the training documents; l2 is chosen by folds of these. Give others as
    dev."""
    HSW77 = """fit.l2 = "auto" was interrupted after {found} of {total} values: training
    goes on with {kept}. Train again to try all."""
    HSW73 = """the guarantee of {name} was given for other weights, lists or settings
    than it has now, and holds no longer: nothing is marked as accepted. Run `python -m
    spacy hosemi guarantee` again."""
    HSW76 = """fit.l2 = "auto": {found} of {total} documents of dev have the words of a
    training document, which the weights know; l2 is chosen by folds of the training
    documents. Give other documents as dev: its scores say too much."""
    HSW01 = """{found} gold spans of {total} begin or end inside a token, so they can
    neither be learnt nor predicted, and count as missed. {labels}. Use a tokenizer that
    cuts there, such as spacy_hosemi.FieldTokenizer.v1 in [nlp.tokenizer], or correct
    the spans."""
    HSW04 = """the list {name!r} is empty: no entry has a word that attr = {attr!r}
    compares. Give it other entries, or another attr."""
    HSW31 = """the folder {folder} has no file for the lists {names}, which are left
    empty. Add files such as NAME.txt, or remove these lists from the config."""
    HSW03 = """{found} rows with {columns} columns are more than {limit} weights; a
    feature that occurs less than {whole} times has weights only for the labels it is
    seen with in training, from a count of {min_count}: {left} weights. Raise
    features.min_count or list fewer features to have weights for all labels."""
    HSW05 = """{found} training documents of {total} break label_rules {rules}; the
    first begins with {text!r}. Training uses them as if there were no rules; correct
    them, or the rules."""
    HSW09 = """features read {names}, which no training document has: they are never
    active. Add a component before this one that sets them, and name it in [training]
    annotating_components; or remove the templates and lists that read them."""
    HSW08 = """the features of new training documents would make {found} weights, more
    than {limit}; no more features are added. Give all training documents to
    nlp.initialize, which chooses the frequent ones, or raise features.min_count."""
    HSW11 = """spans_threshold = {threshold}: more than {limit} spans are above it in
    the document that begins with {text!r}. Only the {limit} most probable spans are
    listed. Raise spans_threshold to list all spans above it."""
    HSW12 = """the corpus gives tokens without a text, and {share:.0f}% of them are not
    what the tokenizer of the pipeline makes of raw text: {given!r} becomes {made}. On
    raw text the model will meet tokens unlike those of training. Predict documents
    whose tokens you give, spacy.tokens.Doc(nlp.vocab, words=[..]); or train on texts
    with character offsets, which the tokenizer cuts."""
    HSW07 = """{found} gold spans of {total} cross a sentence start, and scope is
    "sents". Their tokens are treated as missing; set sentence starts that no span
    crosses, or scope = "doc"."""
    HSW95 = """{found} gold spans of {total} cross a sentence start, such as {text!r}: a
    component before {name} sets sentence starts, and no predicted span crosses one. Put
    {name} in front of that component (a parser, a senter or a sentencizer), or leave it
    out."""
    HSW96 = """{found} of {total} corrections have other separators at the ends of spans
    than what {name} predicts ({texts}). Unless that is meant, adapt with trim=True, or
    --trim: they get those of predictions."""
    HSW97 = """{found} of {total} corrections have the words of another one, and other
    spans: the last one of these counts. Remove what is wrong."""
    HSW98 = """nothing is learnt from the functions {names}: in {n_docs} training
    documents no feature of theirs occurs features.min_count = {min_count} times, or
    they list others when they are called again. Look at what each returns for one of
    the documents, twice, and mend it; or lower min_count."""
    HSW99 = """the vectors of all {found:,} training tokens are the same, so features
    are trained alone: no word there has a vector, or only one and the same. Take
    vectors of the language and script of the texts; hosemi check says how many words
    have one."""
    HSW40 = """{found} gold spans of {total} begin or end with characters that nobody
    sees, such as {text}. {name} learns and predicts spans without these, and a score
    counts what it predicts as wrong. Leave them out of the spans, as `python -m spacy
    hosemi convert` does."""
    HSW27 = """{name} has never been trained: it was initialized with {found} documents,
    and neither fitted nor updated, so it finds nothing. Call hosemi.fit(examples), or
    nlp.update after nlp.initialize; with spacy train, give
    [initialize.components.{name}.fit], or train for more steps."""
    HSW28 = """{n_ents} entities ({labels}) were set before {name} in {n_docs}
    documents; they take {n_taken} of {n_tokens} tokens ({share:.0%}; in training
    {trained:.0%}), and {n_unknown} of them have labels that it does not have. It keeps
    them all and finds nothing where they are. Move {name} in front of the component
    that sets them, or disable that one; if they are right, train with them: name it in
    [training] annotating_components."""
    HSW102 = """a text repeats its words so often that it resembles too many of the
    {n:,} entries of a fuzzy list: after {most:,} steps for each word or character the
    rest is not compared, so less may be found there. Shorten such texts, or take
    entries of the same few words, such as 'a a' beside 'a', out of the list."""
