"""Choose the smoothing and the bins that leave the most predictions both certain and right."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV

from nullproof import CertifiedNB
from nullproof.estimator import certainty_rate, certified_accuracy

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10].mask(np.random.default_rng(0).random((len(X), 10)) < 0.02)  # 2 % holes

search = GridSearchCV(
    CertifiedNB(),
    {"alpha": [0.1, 1.0, 10.0], "bins": [2, 3, 5, 10], "binning": ["uniform", "quantile"]},
    scoring={"right": "accuracy", "certain": certainty_rate, "both": certified_accuracy},
    refit="both",
)
search.fit(X, y)
print("  right  certain  certain and right")
for place in np.argsort(-search.cv_results_["mean_test_both"])[:5]:
    shares = [
        search.cv_results_[f"mean_test_{name}"][place] for name in ("right", "certain", "both")
    ]
    print("{:7.1%}  {:7.1%}  {:17.1%}  ".format(*shares), search.cv_results_["params"][place])
print("chosen:", search.best_params_)
