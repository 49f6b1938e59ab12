"""A pipeline on a mixed table with holes: nothing to encode, nothing to impute, and certificates."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from nullproof import CertifiedNB
from nullproof.estimator import certified_accuracy

data = load_wine(as_frame=True)
table = data.data.drop(columns=["ash"]).assign(
    color=pd.cut(data.data["color_intensity"], 3, labels=["pale", "medium", "deep"]),
    strength=np.where(data.data["alcohol"] > 13, "strong", "light"),
)
table = table.mask(np.random.default_rng(0).random(table.shape) < 0.02)  # 2 % of all cells
train, test, y_train, y_test = train_test_split(table, data.target, random_state=0)

prepare = make_column_transformer(("drop", ["alcohol"]), remainder="passthrough")
model = make_pipeline(prepare.set_output(transform="pandas"), CertifiedNB(alpha=1.0))
model.fit(train, y_train)
right, both = model.score(test, y_test), certified_accuracy(model, test, y_test)
print(f"{right:.0%} of the predictions are right, {both:.0%} are certain and right")
certificates = model[-1].certify(model[:-1].transform(test))
n_certain = certificates.certain.sum()
print(f"{n_certain} of {len(test)} hold whatever the missing values were; not these:")
print(certificates.to_frame().query("not certain"))
