-- Forged bytes of the extension's types, by way of files as COPY writes them: what bytea sends is what another type receives. What is
-- taken has to be a value that is written and read back, as bytes and as text.
CREATE TABLE fuzz.forged_bytes (n int, type text, bytes bytea, code text, message text);
CREATE PROCEDURE fuzz.forge_bytes(calls int) LANGUAGE plpgsql AS $$
DECLARE
    file CONSTANT text := current_setting('data_directory') || '/forged';
    types CONSTANT text[] := ARRAY(SELECT DISTINCT type FROM fuzz.written ORDER BY 1);
    written CONSTANT bytea[] := ARRAY(SELECT bytes FROM fuzz.written ORDER BY type, value);
    target text;
    forged bytea;
    same boolean;
    failed text;
    why text;
BEGIN
    FOREACH target IN ARRAY types LOOP
        EXECUTE format('CREATE TEMP TABLE forged_%I (value %1$I)', target);
    END LOOP;
    FOR n IN 1..calls LOOP
        target := fuzz.one_of(types);
        -- of its own type, or of any
        SELECT w.bytes INTO forged FROM fuzz.written AS w WHERE w.type = target
        OFFSET floor(random() * (SELECT count(*) FROM fuzz.written AS w WHERE w.type = target)) LIMIT 1;
        IF fuzz.chance(0.1) THEN
            forged := written[1 + floor(random() * cardinality(written))::int];
        END IF;
        forged := fuzz.forge(forged);
        failed := '00000';
        why := NULL;
        BEGIN
            EXECUTE format('COPY (SELECT %L::bytea) TO %L (FORMAT binary)', forged, file);
            EXECUTE format('COPY forged_%I FROM %L (FORMAT binary)', target, file);
            EXECUTE format('SELECT coalesce(bool_and(%1$I(value::text::%2$I) = %1$I(value)), true) FROM forged_%2$I', target || '_send', target) INTO same;
            IF NOT same THEN
                failed := 'XX000';
                why := 'is not what its text reads as';
            END IF;
        EXCEPTION WHEN OTHERS THEN
            failed := SQLSTATE;
            why := SQLERRM;
        END;
        EXECUTE format('TRUNCATE forged_%I', target);
        INSERT INTO fuzz.forged_bytes VALUES (n, target, forged, failed, why);
        COMMIT;
    END LOOP;
END $$;
