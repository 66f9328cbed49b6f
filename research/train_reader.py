"""Trains the reader of pairs and sentences on the corpus, and stores it in eight bits.

Run with `python research/train_reader.py FOLDER [--epochs N] [--situations N] [--start FILE [--fixed N] [--mean]]
[--rate X] [--labels NAME]`, in an environment that has the package, PyTorch and Transformers; FOLDER holds
all-MiniLM-L6-v2 as its authors publish it. Writes `memory_pipeline/models/reader/sentences.npz`, which reads sentences;
`train_pairs.py` begins with it. The word table stays as it is, so that the package ships one.

Each note is paired with the fact of its situation. Repeats of the fact stand for it in some pairs, and facts of other
situations give pairs that have nothing in common. Episodes give their labelled pairs, and for each note the nearest
older ones that are related to it in no way. A sentence is read after the one before it. Cost: 16 ms of two cores per
pair and epoch.
"""

import argparse
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from corpus_files import LEARNED, UNLABELLED, Labelled, Situation, episodes, sentences, situations
from store_encoder import LAYERS, network
from torch import nn
from transformers import AutoModel, AutoTokenizer

from memory_pipeline.text.compare.relation_trees import SCORES
from memory_pipeline.text.embed.embedding import attributed
from memory_pipeline.text.embed.encoder import MOST_OF_PAIR, ReaderEmbedder
from memory_pipeline.text.score.sentence_kinds import GROUPS

OUT: Final = Path(__file__).parents[1] / "memory_pipeline" / "models" / "reader" / "sentences.npz"
RELATION: Final = {"update": 0, "partial": 4, "repeat": 1, "conflict": 2, "none": 3}
OF_STORES: Final = {"update": 0, "weak update": 4, "duplicate": 1, "contradiction": 2, "lookalike": 3}
NEAREST: Final = 4
"""Nearest older notes of each note of an episode that are learned as related in no way."""
SHARES: Final = {"whom": 0.5, "kind": 1.0, "holds": 0.5, "harm": 0.5, "worth": 0.3, "stance": 0.7}
"""Weight of each group of labels in the loss of a sentence."""
WEIGHTS: Final = (1.2, 1.5, 1.5, 1.0, 1.2)
"""Weight of a pair of each relation in the loss."""
STAND_IN: Final = 0.2
"""Share of the notes that are also paired with a repeat of the fact."""
BATCH: Final = 32
RATE: Final = 1.2e-4
OFTEN: Final = 2
"""How often a sentence is read in an epoch; there are fewer of them than of pairs."""
HEAD_RATE: Final = 8.0
"""Learning rate of the linear layers, in that of the network."""
WARM_UP: Final = 0.1
MORE_OFTEN: Final = 6.0
"""How much more often than others the sentences of `--labels` are drawn."""
LABEL_BATCH: Final = 256
LABEL_RATE: Final = 3e-4
HALF: Final = torch.backends.cpu.get_cpu_capability() != "AVX2"
"""Whether to compute in bfloat16; without instructions for it, it is five times as slow as float32."""
NEAR: Final = 0.02
"""Weight in the loss of the square of what the layer of labels has moved."""

Pair = tuple[str, str, int]


def pairs(found: Sequence[Situation], seed: int) -> list[Pair]:
    """Return older text, newer text and relation of every pair to learn from."""
    rng = random.Random(seed)  # noqa: S311 - a choice of examples, not of secrets
    result: list[Pair] = []
    for situation in found:
        result += [(situation.fact, text, RELATION[kind]) for kind, text in situation.notes]
        repeats = [text for kind, text in situation.notes if kind == "repeat"]
        result += [
            (repeat, text, RELATION[kind])
            for repeat in repeats[:2]
            for kind, text in situation.notes
            if text != repeat and kind != "partial" and rng.random() < STAND_IN
        ]
        for _ in range(2):
            other = rng.choice(found)
            if other is not situation:
                result.append((situation.fact, rng.choice(other.notes)[1], RELATION["none"]))
    return result


def pairs_of_episodes() -> list[Pair]:
    """Return older text, newer text and relation of labelled pairs, and of near pairs without a label."""
    result: list[Pair] = []
    for store in episodes(files=LEARNED):
        texts = attributed(store.turns).to_list()
        rows = {note: row for row, note in enumerate(store.turns["id"])}
        labelled = {
            (rows[one], rows[other]): OF_STORES[kind]
            for kind, of_kind in store.relations.items()
            for one, other in of_kind
        }
        labelled = {(min(pair), max(pair)): relation for pair, relation in labelled.items()}
        vectors = ReaderEmbedder().embed(texts)
        near = np.tril(vectors @ vectors.T, -1)
        for newer in range(1, len(texts)):
            for older in np.argsort(-near[newer, :newer], kind="stable")[:NEAREST].tolist():
                labelled.setdefault((older, newer), RELATION["none"])
        result += [(texts[older], texts[newer], relation) for (older, newer), relation in sorted(labelled.items())]
    return result


class Model(nn.Module):
    """The encoder, and linear layers over its first and its mean token: of pairs, and of sentences."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder)
        self.encoder.embeddings.word_embeddings.weight.requires_grad = False
        self.head = nn.Linear(2 * self.encoder.config.hidden_size, len(SCORES))
        self.labels = nn.Linear(2 * self.encoder.config.hidden_size, sum(map(len, GROUPS.values())))
        self.drop = nn.Dropout(0.1)

    def forward(self, *, of_pairs: bool, **batch: Any) -> torch.Tensor:
        """Return [pairs, relations], or [sentences, labels of all groups]."""
        return (self.head if of_pairs else self.labels)(self.drop(self.pooled(batch)))

    def pooled(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the first and the mean token of each text, [texts, 2 * width]."""
        rows = self.encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        mean = (rows * mask).sum(1) / mask.sum(1)
        return torch.cat([rows[:, 0], mean], -1)


def begin_with(model: Model, path: Path) -> None:
    """Set the weights of a model to those that `store` wrote."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    state = {
        "embeddings.position_embeddings.weight": arrays["places"],
        "embeddings.token_type_embeddings.weight": arrays["kinds"],
        "embeddings.LayerNorm.weight": arrays["gain"],
        "embeddings.LayerNorm.bias": arrays["offset"],
    }
    for layer in range(LAYERS):
        of = f"encoder.layer.{layer}."
        dense = {
            name: ((arrays[f"{layer}.{name}"] * arrays[f"{layer}.{name}.scale"]).T, arrays[f"{layer}.{name}.offset"])
            for name in ("projection", "output", "inner", "outer")
        }
        weight, bias = dense["projection"]
        parts = zip(("query", "key", "value"), np.split(weight, 3), np.split(bias, 3), strict=True)
        linear = {f"attention.self.{part}": (weight, bias) for part, weight, bias in parts}
        linear |= {"attention.output.dense": dense["output"], "intermediate.dense": dense["inner"]}
        linear |= {"output.dense": dense["outer"]}
        for name, kind in (("attended", "attention.output"), ("closed", "output")):
            linear[f"{kind}.LayerNorm"] = (arrays[f"{layer}.{name}.gain"], arrays[f"{layer}.{name}.offset"])
        state |= {f"{of}{name}.weight": weight for name, (weight, _) in linear.items()}
        state |= {f"{of}{name}.bias": bias for name, (_, bias) in linear.items()}
    tensors = {name: torch.tensor(np.ascontiguousarray(value, dtype=np.float32)) for name, value in state.items()}
    unknown = model.encoder.load_state_dict(tensors, strict=False).unexpected_keys
    if unknown:
        raise ValueError(f"{path}: holds the weights {unknown}, which the network has not")
    for name, layer in (("head", model.head), ("labels", model.labels)):
        weight, bias = arrays[name].T, arrays[f"{name}.offset"]
        if name == "head" and len(bias) < len(SCORES):  # it told no partial updates apart
            weight, bias = (np.concatenate([part, part[:1]]) for part in (weight, bias))
        if name == "labels" and len(bias) < layer.out_features:  # it told no stances apart
            more = layer.out_features - len(bias)
            weight, bias = (
                np.concatenate([part, np.zeros((more, *part.shape[1:]), part.dtype)]) for part in (weight, bias)
            )
        layer.load_state_dict({"weight": torch.tensor(weight.copy()), "bias": torch.tensor(bias)})


def batches(learned: Sequence[Pair], rng: np.random.Generator) -> Iterator[list[Pair]]:
    """Yield all pairs once, those of about equal length together."""
    order = rng.permutation(len(learned))
    lengths = np.array([len(one[0]) + len(one[1]) for one in learned])
    parts = [order[start : start + 20 * BATCH] for start in range(0, len(order), 20 * BATCH)]
    sorted_parts = [part[np.argsort(lengths[part], kind="stable")] for part in parts]
    chosen = [part[start : start + BATCH] for part in sorted_parts for start in range(0, len(part), BATCH)]
    for place in rng.permutation(len(chosen)):
        yield [learned[row] for row in chosen[place]]


def loss_of_sentences(found: torch.Tensor, labels: Sequence[Sequence[int]]) -> torch.Tensor:
    """Return the loss of a batch of sentences: that of each group of labels by its share."""
    given, start, total = torch.tensor(labels), 0, torch.zeros(())
    for place, (name, known) in enumerate(GROUPS.items()):
        part = found[:, start : start + len(known)]
        total = total + SHARES[name] * nn.functional.cross_entropy(
            part, given[:, place], label_smoothing=0.05, ignore_index=UNLABELLED
        )
        start += len(known)
    return total


def train(
    model: Model,
    learned: Sequence[Pair],
    read: Sequence[Labelled],
    folder: Path,
    *,
    epochs: int,
    rate: float,
    seed: int,
) -> None:
    """Train a model for some epochs; prints the loss of each."""
    rng = np.random.default_rng(seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model.train()
    body = [weight for weight in model.encoder.parameters() if weight.requires_grad]
    heads = [*model.head.parameters(), *model.labels.parameters()]
    rates = (rate, rate * HEAD_RATE)
    optimiser = torch.optim.AdamW([{"params": body}, {"params": heads}], lr=rate, weight_decay=0.01)
    steps, step = epochs * (-(-len(learned) // BATCH) + OFTEN * -(-len(read) // BATCH)), 0
    for epoch in range(epochs):
        losses: dict[bool, list[float]] = {True: [], False: []}
        mixed = [*batches(learned, rng), *(one for _ in range(OFTEN) for one in batches(read, rng))]
        for place in rng.permutation(len(mixed)):
            batch, of_pairs = mixed[place], not isinstance(mixed[place][0], Labelled)
            share = min(1.0, (step + 1) / (WARM_UP * steps)) * max(0.0, 1.0 - step / steps)
            for group, highest in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = highest * share
            one, other, labels = zip(*batch, strict=True)
            texts = [list(one), list(other)] if of_pairs else [list(other), list(one)]
            tokens = tokenizer(*texts, padding=True, truncation=True, max_length=MOST_OF_PAIR, return_tensors="pt")
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HALF):
                found = model(of_pairs=of_pairs, **tokens)
            if of_pairs:
                loss = nn.functional.cross_entropy(
                    found.float(), torch.tensor(labels), weight=torch.tensor(WEIGHTS), label_smoothing=0.05
                )
            else:
                loss = loss_of_sentences(found.float(), labels)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            losses[of_pairs].append(loss.item())
            step += 1
        print(f"epoch {epoch}: loss {np.mean(losses[True]):.4f} and {np.mean(losses[False]):.4f}", flush=True)


def train_labels(model: Model, read: Sequence[Labelled], often: Container[str], folder: Path, *, epochs: int) -> None:
    """Train the layer of labels alone, near its weights; the network, and so the relations of pairs, stay as they are.

    Args:
        model: the model.
        read: sentences with labels.
        often: texts that are drawn `MORE_OFTEN`.
        folder: holds the tokenizer.
        epochs: how often as many sentences are drawn as there are.
    """
    model.eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    parts = []
    for start in range(0, len(read), BATCH):
        part = read[start : start + BATCH]
        texts = [one.before for one in part], [one.text for one in part]
        tokens = tokenizer(*texts, padding=True, truncation=True, max_length=MOST_OF_PAIR, return_tensors="pt")
        with torch.no_grad():
            parts.append(model.pooled(tokens))
    known, labels = torch.cat(parts), torch.tensor([one.labels for one in read])
    weights = torch.tensor([MORE_OFTEN if one.text in often else 1.0 for one in read])
    first = {name: value.clone() for name, value in model.labels.state_dict().items()}
    optimiser = torch.optim.Adam(model.labels.parameters(), lr=LABEL_RATE)
    model.drop.train()
    for _ in range(epochs * (len(read) // LABEL_BATCH)):
        drawn = torch.multinomial(weights, LABEL_BATCH, replacement=True)
        moved = sum(((value - first[name]) ** 2).sum() for name, value in model.labels.named_parameters())
        loss = loss_of_sentences(model.labels(model.drop(known[drawn])), labels[drawn].tolist()) + NEAR * moved
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def fix(model: Model, layers: int) -> None:
    """Leave the words and the lowest layers as they are."""
    for part in (model.encoder.embeddings, *model.encoder.encoder.layer[:layers]):
        part.requires_grad_(requires_grad=False)


def mean(model: Model, path: Path) -> None:
    """Set the weights to their mean with those of a file, from which the training began.

    The mean errs less than either on texts unlike those that it learned from (Wortsman et al., Robust fine-tuning of
    zero-shot models, 2022).
    """
    trained = {name: value.clone() for name, value in model.state_dict().items()}
    begin_with(model, path)
    begun = model.state_dict()
    model.load_state_dict(
        {name: (value + begun[name]) / 2 if value.is_floating_point() else value for name, value in trained.items()}
    )


def store(model: Model, path: Path = OUT, *, heads: Sequence[str] = ("head", "labels")) -> None:
    """Write the model, without its word table, and some of its linear layers."""
    weights = {name: value.detach().numpy() for name, value in model.encoder.state_dict().items()}
    arrays = network(weights)
    for name in heads:
        layer = getattr(model, name)
        of_layer = {part: value.detach().numpy() for part, value in layer.state_dict().items()}
        arrays |= {name: of_layer["weight"].T.astype(np.float32), f"{name}.offset": of_layer["bias"].astype(np.float32)}
    np.savez_compressed(path, **arrays)


def main() -> None:
    """Train and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--situations", type=int, help="learn from so many, chosen by the seed; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="weights to begin with, as an earlier training wrote them")
    parser.add_argument("--fixed", type=int, help="leave the words and so many lowest layers as they are")
    parser.add_argument("--mean", action="store_true", help="store the mean of the weights before and after")
    parser.add_argument("--labels", help="train the layer of labels alone, with this file of sentences more often")
    parser.add_argument("--rate", type=float, default=RATE, help="learning rate at its highest")
    options = parser.parse_args()
    if options.mean and not options.start:
        parser.error("--mean needs --start: the weights to take the mean with")
    found = situations()
    random.Random(options.seed).shuffle(found)  # noqa: S311 - see above
    found = found[: options.situations]
    learned = [*pairs(found, options.seed), *pairs_of_episodes()]
    read = sentences(LEARNED)
    print(f"{len(found)} situations, {len(learned)} pairs, {len(read)} sentences", flush=True)
    torch.manual_seed(options.seed)
    model = Model(options.folder)
    if options.start:
        begin_with(model, options.start)
    if options.labels:
        often = {one.text for one in sentences((), names=(options.labels,))}
        train_labels(model, read, often, options.folder, epochs=options.epochs)
    else:
        if options.fixed is not None:
            fix(model, options.fixed)
        train(model, learned, read, options.folder, epochs=options.epochs, rate=options.rate, seed=options.seed)
    if options.mean:
        mean(model, options.start)
    store(model)


if __name__ == "__main__":
    main()
