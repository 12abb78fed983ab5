"""Counts households by state, county and size with Spark, from CSV files of persons and households."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import leaves

persons, households = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()


def csv(path):
    return spark.read.csv(path, header=True, inferSchema=True)


# a person without a household, or with an unknown one, counts nowhere; a household without persons is of size 0
persons = csv(persons).groupBy("household").count()
sizes = csv(households).join(persons, "household", "left").withColumn("size", f.coalesce("count", f.lit(0)))
counted = (
    sizes.groupBy("state", "county", "size")
    .agg(f.count("*").alias("households"))
    .groupBy("state", "county")
    .agg(f.map_from_entries(f.collect_list(f.struct("size", "households"))).alias("histogram"))
)
leaves.write((row.state, row.county, row.histogram) for row in counted.toLocalIterator())
