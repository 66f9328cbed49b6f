"""Times one maintenance tick of cognitive-memory over memories given as JSON lines; runs in .venv-peers (.ci/peers).

python benchmarks/of_peers/tick_of_cognitive_memory.py FILE
"""

import asyncio
import json
import sys
import time
from datetime import datetime
from pathlib import Path

from cognitive_memory import CognitiveMemory
from cognitive_memory.types import Memory


def compress(contents: list[str]) -> str:
    """Join texts, as the package does where no model is set up."""
    return "Summary: " + " | ".join(contents)


async def main(told: list[dict]) -> None:
    store = CognitiveMemory(embedder="hash")
    for row in told:
        memory = Memory(
            id=row["memory_id"],
            content=row["content"],
            importance=row["importance"],
            stability=row["stability"],
            created_at=datetime.fromisoformat(row["created_at"]),
            embedding=row["vector"],
        )
        await store.adapter.create(memory)
    start = time.process_time()
    await store.engine.tick(datetime.fromisoformat(told[0]["as_of"]), store.embedder, compress)
    spent = time.process_time() - start
    merged = [memory for memory in store.adapter.cold.values() if memory.is_superseded]
    print(
        json.dumps({"seconds": spent, "merged": len(merged), "summaries": len({one.superseded_by for one in merged})})
    )


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
    asyncio.run(main([json.loads(line) for line in lines]))
