"""The real tables that experiments use where their folder is at hand: labels, columns to ignore."""

from __future__ import annotations

LABELS = {
    "adult": "income",
    "bodyPerformance": "class",
    "breast_cancer": "Class",
    "breast_cancer_wisconsin": "class",
    "company_bankruptcy_5807": "Bankrupt?",
    "diabetic_data": "readmitted",
    "employee": "LeaveOrNot",
    "fetal_health": "fetal_health",
    "fitness_class": "attended",
    "heart": "HeartDisease",
    "heart_2020_cleaned": "HeartDisease",
    "house_votes_84": "Class",
    "hypothyroid": "Class",
    "kddcup99_10pct": "label",
    "mushrooms": "class",
    "penguins": "species",
    "pima_diabetes": "outcome",
    "polish_bankruptcy_1year": "class",
    "star_classification_10k": "class",
    "titanic": "Survived",
    "winequalityN": "type",
}
IGNORED = {"titanic": ["PassengerId", "Name", "Ticket"], "diabetic_data": ["encounter_id"]}
