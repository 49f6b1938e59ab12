"""Tell how far predictions hold where hardly any is certain, and whether those that hold are right."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from nullproof import CertifiedNB

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10].mask(np.random.default_rng(0).random((len(X), 10)) < 0.2)  # 20 % holes
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

result = CertifiedNB(alpha=1).fit(X_train, y_train).certify(X_test)
print(repr(result).splitlines()[0])
print("bias  hold  right of these  right of the rest")
for at in result.curve(truth=y_test).points():
    shares = ("" if s is None else f"{s:.1%}" for s in (at.accuracy_hold, at.accuracy_rest))
    print("{:4g}  {:4}  {:>14}  {:>17}".format(at.bias, at.n_hold, *shares))
weakest = result[int(np.nanargmin(result.tolerance))]
print(f"the weakest holds up to {weakest.tolerance:.4f}, then {weakest.rival} may win")
