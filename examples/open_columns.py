"""Which columns make my predictions open? Fill one at a time and see what becomes certain."""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from nullproof import CertifiedNB

X, y = load_wine(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
for column in X.columns:  # some columns have many holes, some few
    X[column] = X[column].mask(rng.random(len(X)) < rng.choice([0.005, 0.02, 0.06]))
train, test, y_train, _ = train_test_split(X, y, test_size=0.5, random_state=0)


def certain(train, test):
    return CertifiedNB(alpha=1.0).fit(train, y_train).certify(test).certain


open_points = test[~certain(train, test)]
print(f"{len(open_points)} of {len(test)} predictions hang on cells that are missing")
gains = {}
for column in X.columns:
    typical = {column: train[column].median()}  # one guess: the truth may settle more or fewer
    gains[column] = certain(train.fillna(typical), open_points.fillna(typical)).mean()
for column, gain in sorted(gains.items(), key=lambda pair: -pair[1])[:5]:
    n_holes = train[column].isna().sum()
    print(f"{gain:4.0%} of these would be certain if {column!r} were complete (holes: {n_holes})")
