"""Superset for a look at the demo, on this machine only: its own data lie in SUPERSET_HOME, and each chart asks anew."""

import os

HOME = os.environ["SUPERSET_HOME"]
with open(f"{HOME}/secret") as file:
    SECRET_KEY = file.read()
SQLALCHEMY_DATABASE_URI = f"sqlite:///{HOME}/superset.db"
FILTER_STATE_CACHE_CONFIG = {"CACHE_TYPE": "SupersetMetastoreCache"}
EXPLORE_FORM_DATA_CACHE_CONFIG = {"CACHE_TYPE": "SupersetMetastoreCache"}
