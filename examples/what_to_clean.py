"""Which missing cells should be looked up first? Our order against a random one, with known truth."""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from nullproof import CountIndex, cleaning_plan, inject_missing
from nullproof.cleaning import Cleaner, simulate_cleaning

wine = load_wine(as_frame=True).frame
truth, points = train_test_split(wine, test_size=0.5, random_state=0)
holed = inject_missing(truth, 0.05, label="target", seed=0)
index = CountIndex.from_table(holed, "target", bins=3, binning="uniform")

plan = cleaning_plan(index, points, alpha=1)
print(plan)
for confidence in (1.0, 0.99):
    for strategy in ("random", "ours"):
        cleaner = Cleaner(index, points, holed, alpha=1, confidence=confidence, cells="observed")
        curve = simulate_cleaning(cleaner, truth, strategy=strategy)
        cells = curve.cells_until(1.0)
        print(f"all done at confidence {confidence} after {cells:.0f} cells, {strategy} order")
