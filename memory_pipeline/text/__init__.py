"""Text: what can be read out of a memory's words alone, as pure functions over tables.

Each function depends on the text it is given and on nothing else, so that enriching new memories gives what a rebuild
gives. What is not here: comparing stored vectors (`consolidation/similarity`) and keeping anything (`lake/`).
"""
