"""A table was imputed: how many of the imputed cells must be wrong before a prediction changes?"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from nullproof import CountIndex, inject_missing, poison
from nullproof.radii import radii

table = load_breast_cancer(as_frame=True).frame
train, points = train_test_split(table, test_size=0.3, random_state=0)
holed = inject_missing(train, 0.1, label="target", seed=0)
imputed = holed.fillna(holed.median())

index = CountIndex.from_table(imputed, "target")
only = {"cells": holed.isna(), "table": imputed}
found = radii(index, points, only=only)
beyond = np.isinf(found.radius)
print(f"{holed.isna().sum().sum()} cells were imputed")
print(f"{beyond.sum()} of {len(found)} predictions stand whatever these cells should have held")

weakest = int(np.argmin(found.radius))
attack = poison(index, points[weakest : weakest + 1], only=only)
row, column = attack.cells(imputed)[0]
print(f"the weakest falls with {attack.n_cells} of them, say {column!r} in row {row}")
