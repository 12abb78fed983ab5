"""Builds the dashboard in an empty Superset by its REST API: the database, its tables, charts, filters, the layout."""

import json
import os
import time
from pathlib import Path

import psycopg2
import requests

URL = os.environ["SUPERSET_URL"]
PASSWORD = Path(os.environ["SUPERSET_HOME"], "password").read_text().strip()

session = requests.Session()


def post(what, **fields):
    answer = session.post(f"{URL}/api/v1/{what}", json=fields)
    assert answer.ok, f"{what}: {answer.status_code} {answer.text}"
    return answer.json()


def wait_until_up(seconds=120):
    for _ in range(seconds):
        try:
            return session.get(f"{URL}/health").raise_for_status()
        except requests.RequestException:
            time.sleep(1)
    raise TimeoutError(f"no answer from {URL} in {seconds} s")


def log_in():
    token = post("security/login", username="admin", password=PASSWORD, provider="db")["access_token"]
    session.headers["Authorization"] = f"Bearer {token}"
    session.headers["X-CSRFToken"] = session.get(f"{URL}/api/v1/security/csrf_token/").json()["result"]


def database():
    # A socket is a folder, which has no place before the slash; on another machine: role:password@host:port/database.
    socket, port, name = (os.environ[name] for name in ("PGHOST", "PGPORT", "PGDATABASE"))
    uri = f"postgresql+psycopg2://dashboard@/{name}?host={socket}&port={port}"
    return post("database/", database_name="pg_dp", sqlalchemy_uri=uri)["id"]


def total(column):
    return {"expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": "SUM", "label": column}


def where(condition):
    return {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": condition}


# The rows of all levels are in the tables: what is summed has to be of one of them.
LEAVES = {"adhoc_filters": [where("is_leaf")]}
BARS = [
    "region", "aircraft", "flights", "flights_low", "flights_high", "mean", "mean_low", "mean_high",
    "median", "median_low", "median_high", "p90", "p90_low", "p90_high",
]  # fmt: skip


def departures(grain, labels):
    return {
        "viz_type": "echarts_timeseries_line",
        "x_axis": "lower_bound",
        "x_axis_time_format": labels,
        "metrics": [{**total("sum"), "label": "departures"}, total("low"), total("high")],
        "adhoc_filters": [where(f"grain = '{grain}'")],
        "rich_tooltip": True,
        "show_legend": True,
        "truncateYAxis": True,
        "y_axis_bounds": [None, None],
        "y_axis_format": ",d",
    }


def charts(airports):
    """Rows of (width in columns of 12, title, table, parameters); the height of each row in front."""
    return [
        (20, [
            (3, "Aircraft", "flights_regions", {
                "viz_type": "big_number_total", "metric": total("aircraft"), "y_axis_format": ",d", **LEAVES,
            }),
            (3, "Flights", "flights_regions", {
                "viz_type": "big_number_total", "metric": total("flights"), "y_axis_format": ",d", **LEAVES,
            }),
        ]),
        (50, [
            # One metric for each airport: Superset sorts bars by a column only where no other one divides them.
            (7, "Aircraft by number of flights", "flights_sizes", {
                "viz_type": "echarts_timeseries_bar",
                "x_axis": "size_band",
                "x_axis_sort": "band",
                "x_axis_sort_asc": True,
                "timeseries_limit_metric": {
                    "expressionType": "SQL", "sqlExpression": "MIN(size_band_order)", "label": "band",
                },
                "metrics": [
                    {
                        "expressionType": "SQL",
                        "sqlExpression": f"SUM(groups) FILTER (WHERE origin = '{airport}')",
                        "label": airport,
                    }
                    for airport in airports
                ],
                "xAxisLabelInterval": "0",
                "x_axis_title": "flights of an aircraft",
                "x_axis_title_margin": 30,
                "rich_tooltip": True,
                "show_legend": True,
                "y_axis_format": ",d",
                **LEAVES,
            }),
            (5, "Flights by airport and airline", "flights_regions", {
                "viz_type": "sunburst_v2",
                "columns": ["origin", "carrier"],
                "metric": total("flights"),
                "number_format": ",d",
                "show_labels": True,
                "show_labels_threshold": 3,
                **LEAVES,
            }),
        ]),
        (50, [
            (12, "Regions, with error bars", "flights_regions", {
                "viz_type": "table",
                "query_mode": "raw",
                "all_columns": BARS,
                "order_by_cols": [json.dumps(["aircraft", False])],
                "page_length": 10,
                "row_limit": 1000,
                "show_cell_bars": False,
                "column_config": {
                    column: {"d3NumberFormat": ",.2f" if column.startswith("mean") else ",d"} for column in BARS[1:]
                },
            }),
        ]),
        (50, [
            (12, "Departures by day", "flights_departures", departures("day", "%b %d")),
        ]),
        (50, [
            (12, "Departures by month", "flights_departures", departures("month", "%b")),
        ]),
    ]  # fmt: skip


def native_filter(name, table, column, not_for):
    return {
        "id": f"NATIVE_FILTER-{column}",
        "name": name,
        "type": "NATIVE_FILTER",
        "filterType": "filter_select",
        "targets": [{"datasetId": table, "column": {"name": column}}],
        "adhoc_filters": [where(f"{column} IS NOT NULL")],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": not_for},
        "controlValues": {"multiSelect": True},
        "defaultDataMask": {"extraFormData": {}, "filterState": {}},
        "cascadeParentIds": [],
    }


def layout(rows, ids):
    """Each row a line of charts."""
    position = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "parents": ["ROOT_ID"], "children": []},
    }
    for number, (height, row) in enumerate(rows):
        row_id = f"ROW-{number}"
        position["GRID_ID"]["children"].append(row_id)
        position[row_id] = {
            "type": "ROW", "id": row_id, "parents": ["ROOT_ID", "GRID_ID"], "children": [],
            "meta": {"background": "BACKGROUND_TRANSPARENT"},
        }  # fmt: skip
        for width, title, _, _ in row:
            chart_id = f"CHART-{ids[title]}"
            position[row_id]["children"].append(chart_id)
            position[chart_id] = {
                "type": "CHART", "id": chart_id, "parents": ["ROOT_ID", "GRID_ID", row_id], "children": [],
                "meta": {"chartId": ids[title], "sliceName": title, "width": width, "height": height},
            }  # fmt: skip
    return position


def build(airports):
    pg_dp = database()
    tables = {
        name: post("dataset/", database=pg_dp, schema="public", table_name=name)["id"]
        for name in ("flights_sizes", "flights_regions", "flights_departures")
    }
    rows = charts(airports)
    ids = {
        title: post(
            "chart/",
            slice_name=title,
            viz_type=parameters["viz_type"],
            datasource_id=tables[table],
            datasource_type="table",
            params=json.dumps(parameters),
        )["id"]
        for _, row in rows
        for _, title, table, parameters in row
    }
    # Departures are of all airports and airlines together.
    not_for = [ids[title] for _, row in rows for _, title, table, _ in row if table == "flights_departures"]
    filters = [
        native_filter("Airport", tables["flights_regions"], "origin", not_for),
        native_filter("Airline", tables["flights_regions"], "carrier", not_for),
    ]
    dashboard = post(
        "dashboard/",
        dashboard_title="Flights from New York in 2013, with differential privacy",
        slug="flights",
        published=True,
        position_json=json.dumps(layout(rows, ids)),
        json_metadata=json.dumps({"native_filter_configuration": filters}),
    )["id"]
    for chart in ids.values():
        answer = session.put(f"{URL}/api/v1/chart/{chart}", json={"dashboards": [dashboard]})
        assert answer.ok, answer.text


if __name__ == "__main__":
    wait_until_up()
    log_in()
    with psycopg2.connect("") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT origin FROM flights_regions WHERE level_name = 'origin' ORDER BY origin")
        build([airport for airport, in cursor])
