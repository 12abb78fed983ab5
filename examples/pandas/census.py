"""Reads a named release with pandas over SQLAlchemy and psycopg, cell by cell.

PGHOST, PGDATABASE and the like say where the server is. read_sql leaves a transaction behind that is rolled back:
the release is stored all the same, so that it is charged once."""

# %% Connect
import pandas as pd
from sqlalchemy import create_engine, text

engine = create_engine("postgresql+psycopg://")


def read(sql, **parameters):
    with engine.connect() as connection:
        return pd.read_sql(text(sql), connection, params=parameters)


# %% Release, or read what is stored under the name already
sizes = read("SELECT * FROM dp_hierarchy_release('census', 1, name => :name)", name="2026 Q1")
sizes.head()

# %% Households and persons by state: computed from what was released, for nothing
states = sizes[sizes.level == 1].assign(state=lambda rows: rows.path.str[0], persons=lambda rows: rows["size"] * rows.groups)
print(states.groupby("state")[["groups", "persons"]].sum())

# %% With error bars
bars = read("SELECT * FROM dp_hierarchy_intervals('census', '2026 Q1') WHERE statistic = 'mean_size'")
print(bars[["path", "value", "lower", "upper"]])

# %% What is left of the budget
print(read("SELECT epsilon_spent, epsilon_left, releases FROM dp_budget('census')"))

# %% A picture for the report
with open("census.svg", "w", encoding="utf-8") as file:
    file.write(read("SELECT dp_plot_svg('census', '2026 Q1') AS picture").picture[0])
