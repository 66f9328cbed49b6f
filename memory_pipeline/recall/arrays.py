"""Types of the arrays that recall works on; each has one entry for each row, or for what its name says."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Keys = NDArray[np.uint64]
"""Words, as hashes of their stems."""
Matrix = NDArray[np.float32]
"""Vectors, or one of them."""
