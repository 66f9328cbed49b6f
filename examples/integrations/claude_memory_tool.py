"""Claude's memory tool over memories. Needs no key: the commands are those that the model would give.

pip install '.[anthropic]'

With a key: client.beta.messages.run_tools(model=..., messages=..., tools=[MemoryTool(memory)], ...)
"""

from tempfile import TemporaryDirectory

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.anthropic import MemoryTool

NOTES = "# Ana\n\n- allergic to peanuts\n- the launch is on 12 June\n"
COMMANDS = [
    {"command": "create", "path": "/memories/ana.md", "file_text": NOTES},
    {"command": "view", "path": "/memories"},
    {"command": "str_replace", "path": "/memories/ana.md", "old_str": "12 June", "new_str": "26 June"},
    {"command": "view", "path": "/memories/ana.md"},
]

with TemporaryDirectory() as home, MemoryClient(home, profile_id="ana") as memory:
    tool = MemoryTool(memory)
    for command in COMMANDS:
        print(tool.call(command), end="\n\n")
    print("recalled:", memory.recall("When is the launch?", k=1).text())
