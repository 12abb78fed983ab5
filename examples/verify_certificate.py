#!/usr/bin/env python3
"""Checks what pg_dp has written down, without a database: the copy of a ledger, a certificate, the
rows of a release. Says what is wrong, and exits with 1 if anything is.

    verify_certificate.py [--ledger ledger.csv] [--certificate certificate.json] [--rows rows.csv]

    \\copy (SELECT * FROM dp.ledger_chain ORDER BY id) TO 'ledger.csv' (FORMAT csv, HEADER)
    \\pset tuples_only
    \\pset format unaligned
    SELECT dp_certificate('flights', '2013') \\g certificate.json
    \\copy (SELECT level, path, size, groups FROM dp.release_rows
           WHERE dataset = 'flights' AND release = '2013') TO 'rows.csv' (FORMAT csv, HEADER)

and of others the columns that the certificate names, of dp.range_rows, dp.rectangle_rows,
dp.region_range_rows, dp.found_bounds or dp.found_regions, of a stream those of dp.stream_ticks up to then.
docs/certificates.md tells what each check is worth.
"""
import argparse
import csv
import hashlib
import json
import struct
import sys
from decimal import Decimal

# What an entry of the ledger holds, in this order: it is an array of JSON.
ENTRY = ('id', 'epoch', 'charged_at', 'charged_by', 'dataset', 'function', 'epsilon', 'delta', 'rho',
         'parameters', 'nonce')
# The columns that are hashed, of each of the views of stored releases.
VIEWS = ['level,path,size,groups', 'grain,lower_bound,upper_bound,sum,stddev',
         'row_lower,row_upper,column_lower,column_upper,sum,stddev',
         'path,grain,lower_bound,upper_bound,sum,stddev', 'path', 'candidate,above,clipping,noise,chosen',
         'tick,lower_bound,upper_bound,count,stddev,total,total_stddev']
FLOATS = ('sum', 'stddev', 'count', 'total', 'total_stddev', 'clipping', 'noise')
# What of a certificate its entry of the ledger says, too: whole parts, and fields of others.
OF_ENTRY = ('parameters', 'mechanism', 'ledger')
FIELDS_OF_ENTRY = {'release': ('name', 'function', 'charged_at', 'charged_by'), 'unit': ('max_rows_per_unit',)}

problems = []


def check(holds, problem):
    if not holds:
        problems.append(problem)
    return holds


def parsed(text):
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def link(previous, entry):
    """The hash of an entry: SHA-256 of the hash before and of the entry's text."""
    return hashlib.sha256(bytes.fromhex(previous) + entry.encode()).hexdigest()


def check_ledger(path):
    """Every link of the chain; the hashes by the entries' numbers."""
    with open(path, newline='', encoding='utf-8') as file:
        entries = list(csv.DictReader(file))
    hashes, previous, shown = {}, '', 0
    for number, row in enumerate(entries, 1):
        name = f'{path}: entry {row["id"]}'
        check(row['id'] == str(number), f'{name}: should be entry {number}, which is missing')
        check(row['previous_hash'] == previous, f'{name}: does not follow the hash of the one before')
        if row['entry']:
            shown += 1
            check(link(row['previous_hash'], row['entry']) == row['hash'],
                  f'{name}: its hash is not that of what it says')
            check(str(parsed(row['entry'])[0]) == row['id'], f'{name}: says to be another entry')
        previous = hashes[row['id']] = row['hash']
    print(f'{path}: {len(entries)} entries, of which {shown} say what they are')
    return hashes


def check_certificate(path, hashes):
    """That it says what its entry of the ledger says, and that the ledger has that; the certificate."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    try:
        certificate = parsed(text)
    except json.JSONDecodeError:
        check(False, f'{path}: is no JSON: export dp_certificate, not dp_certificate_text')
        return None
    ledger, release = certificate['ledger'], certificate['release']
    name = f'{path}: entry {ledger["id"]}'
    check(link(ledger.get('previous_hash', ''), ledger['entry']) == ledger['hash'],
          f'{name}: its hash is not that of what it says')
    if hashes is not None:
        check(hashes.get(str(ledger['id'])) == ledger['hash'], f'{name}: the ledger has another one')

    entry = dict(zip(ENTRY, parsed(ledger['entry'])))
    entry['charged_at'] = entry['charged_at'].replace(' ', 'T') + 'Z'
    says = {'id': ledger['id'], 'mechanism': certificate['mechanism'], **certificate['parameters'],
            **{field: release[field] for field in FIELDS_OF_ENTRY['release']}}
    charged = {**entry, 'mechanism': entry['parameters'], 'name': entry['parameters']['name'],
               **{loss: Decimal(entry[loss]) for loss in ('epsilon', 'delta', 'rho')}}
    for field, said in says.items():
        check(said == charged[field], f'{name}: {field} is {charged[field]} there, and {said} in the certificate')
    check(release.get('status') != 'retracted', f'{path}: the release was retracted')
    rows_per_unit = entry['parameters'].get('rows_per_unit')
    check(rows_per_unit in (None, certificate['unit'].get('max_rows_per_unit', 1)),
          f'{name}: the noise is for units of {rows_per_unit} rows, and not for the unit of the certificate')
    print(f'{path}: release {json.dumps(release["name"])} of dataset {json.dumps(release["dataset"])}, '
          f'epsilon {certificate["parameters"]["epsilon"]}, entry {ledger["id"]}')
    return certificate


def not_covered(certificate):
    """Its parts and fields that no hash covers: they are not in its entry of the ledger."""
    for part in certificate:
        if part in FIELDS_OF_ENTRY:
            of_entry = FIELDS_OF_ENTRY[part] if part == 'release' or 'rows_per_unit' in certificate['mechanism'] else ()
            yield from (f'{part}.{field}' for field in certificate[part] if field not in of_entry)
        elif part not in OF_ENTRY:
            yield part


def quoted(field):
    """A field of CSV as PostgreSQL writes it."""
    return '"' + field.replace('"', '""') + '"' if any(c in '",\n\r' for c in field) else field


def hashed(row, columns):
    """A row as it is hashed: a line of CSV, with the bytes of what is a floating-point number."""
    fields = [struct.pack('>d', float(field)).hex() if column in FLOATS else quoted(field)
              for column, field in zip(columns, row, strict=True)]
    return ','.join(fields).encode()


def check_rows(path, expected):
    """The checksum: of the lines sorted by their bytes."""
    with open(path, newline='', encoding='utf-8') as file:
        rows = list(csv.reader(file))
    columns = expected['columns'] if expected else ','.join(rows[0]) if rows else ''
    columns = (columns if columns in VIEWS else VIEWS[0]).split(',')
    if rows and set(columns) <= set(rows[0]):  # a head, perhaps of more columns
        places = [rows[0].index(column) for column in columns]
        rows = [[row[place] for place in places] for row in rows[1:]]
    elif rows and len(rows[0]) != len(columns):
        raise ValueError(f'the columns have to be {",".join(columns)}, and are {",".join(rows[0])}')
    lines = sorted(hashed(row, columns) for row in rows)
    found = hashlib.sha256(b''.join(line + b'\n' for line in lines)).hexdigest()
    print(f'{path}: {len(lines)} rows, SHA-256 {found}')
    if expected is not None:
        check(len(lines) == expected['count'], f'{path}: {len(lines)} rows instead of {expected["count"]}')
        check(found == expected['sha256'], f'{path}: the rows are not those of the certificate')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--ledger', help='CSV of dp.ledger_chain')
    parser.add_argument('--certificate', help='JSON of dp_certificate')
    parser.add_argument('--rows', help='CSV of those columns of dp.release_rows, or of the view of ranges')
    arguments = parser.parse_args()
    if not (arguments.ledger or arguments.certificate or arguments.rows):
        parser.error('nothing to check')

    csv.field_size_limit(2**31 - 1)
    hashes = certificate = path = None
    try:
        if path := arguments.ledger:
            hashes = check_ledger(path)
        if path := arguments.certificate:
            certificate = check_certificate(path, hashes)
        if path := arguments.rows:
            rows = certificate and certificate.get('rows')
            check(rows or not certificate or certificate['release'].get('status') == 'retracted',
                  f'{path}: the certificate is for no rows')
            check_rows(path, rows)
    except (OSError, AttributeError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        check(False, f'{path}: is not what was exported: {error!r}')
    for problem in problems:
        print(f'WRONG: {problem}')
    if not problems:
        fields = ', '.join(sorted(not_covered(certificate))) if certificate else ''
        print('Nothing wrong was found.' + (fields and f' Not covered by any hash: {fields}'))
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
