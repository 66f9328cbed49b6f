"""Trains the reader of pairs on the situations of the corpus, and stores it in eight bits.

Run with `python research/train_pairs.py FOLDER [--epochs N] [--situations N]`, in an environment that has the package,
PyTorch and Transformers; FOLDER holds all-MiniLM-L6-v2 as its authors publish it. Writes
`memory_pipeline/models/reader/pairs.npz`. The word table stays as it is, so that the package ships one.

Each note is paired with the fact of its situation. Repeats of the fact stand for it in some pairs, and facts of other
situations give pairs that have nothing in common. Cost: 16 ms of two cores per pair and epoch.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from corpus_files import Situation, situations
from store_encoder import network
from torch import nn
from transformers import AutoModel, AutoTokenizer

from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.embed.encoder import MOST_OF_PAIR

OUT: Final = Path(__file__).parents[1] / "memory_pipeline" / "models" / "reader" / "pairs.npz"
RELATION: Final = {"update": 0, "partial": 0, "repeat": 1, "conflict": 2, "none": 3}
WEIGHTS: Final = (1.2, 1.5, 1.5, 1.0)
"""Weight of a pair of each relation in the loss."""
STAND_IN: Final = 0.2
"""Share of the notes that are also paired with a repeat of the fact."""
BATCH: Final = 32
RATE: Final = 1.2e-4
HEAD_RATE: Final = 1e-3
WARM_UP: Final = 0.1

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


class Model(nn.Module):
    """The encoder, and a linear layer over its first and its mean token."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder)
        self.encoder.embeddings.word_embeddings.weight.requires_grad = False
        self.head = nn.Linear(2 * self.encoder.config.hidden_size, len(RELATIONS))
        self.drop = nn.Dropout(0.1)

    def forward(self, **batch: Any) -> torch.Tensor:
        """Return [pairs, relations]."""
        rows = self.encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        mean = (rows * mask).sum(1) / mask.sum(1)
        return self.head(self.drop(torch.cat([rows[:, 0], mean], -1)))


def batches(learned: Sequence[Pair], rng: np.random.Generator) -> Iterator[list[Pair]]:
    """Yield all pairs once, those of about equal length together."""
    order = rng.permutation(len(learned))
    lengths = np.array([len(older) + len(newer) for older, newer, _ in learned])
    parts = [order[start : start + 20 * BATCH] for start in range(0, len(order), 20 * BATCH)]
    sorted_parts = [part[np.argsort(lengths[part], kind="stable")] for part in parts]
    chosen = [part[start : start + BATCH] for part in sorted_parts for start in range(0, len(part), BATCH)]
    for place in rng.permutation(len(chosen)):
        yield [learned[row] for row in chosen[place]]


def train(learned: Sequence[Pair], folder: Path, *, epochs: int, seed: int) -> Model:
    """Return the model after some epochs; prints the loss of each."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Model(folder).train()
    body = [weight for weight in model.encoder.parameters() if weight.requires_grad]
    rates = (RATE, HEAD_RATE)
    optimiser = torch.optim.AdamW(
        [{"params": body, "lr": RATE}, {"params": model.head.parameters(), "lr": HEAD_RATE}], weight_decay=0.01
    )
    steps, step = epochs * -(-len(learned) // BATCH), 0
    for epoch in range(epochs):
        losses = []
        for batch in batches(learned, rng):
            share = min(1.0, (step + 1) / (WARM_UP * steps)) * max(0.0, 1.0 - step / steps)
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share
            older, newer, relation = zip(*batch, strict=True)
            read = tokenizer(
                list(older), list(newer), padding=True, truncation=True, max_length=MOST_OF_PAIR, return_tensors="pt"
            )
            with torch.autocast("cpu", dtype=torch.bfloat16):
                found = model(**read)
            loss = nn.functional.cross_entropy(
                found.float(), torch.tensor(relation), weight=torch.tensor(WEIGHTS), label_smoothing=0.05
            )
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
            step += 1
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}", flush=True)
    return model


def store(weights: dict[str, np.ndarray[Any, Any]], head: np.ndarray[Any, Any], offset: np.ndarray[Any, Any]) -> None:
    """Write the model, without its word table."""
    arrays = network(weights)
    arrays |= {"head": head.T.astype(np.float32), "head.offset": offset.astype(np.float32)}
    np.savez_compressed(OUT, **arrays)


def main() -> None:
    """Train and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--situations", type=int, help="learn from so many, chosen by the seed; default: all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = situations()
    random.Random(options.seed).shuffle(found)  # noqa: S311 - see above
    found = found[: options.situations]
    learned = pairs(found, options.seed)
    print(f"{len(found)} situations, {len(learned)} pairs", flush=True)
    model = train(learned, options.folder, epochs=options.epochs, seed=options.seed)
    weights = {name: value.detach().numpy() for name, value in model.encoder.state_dict().items()}
    head = {name: value.detach().numpy() for name, value in model.head.state_dict().items()}
    store(weights, head["weight"], head["bias"])


if __name__ == "__main__":
    main()
