-- The private table. dbt makes a new one on each run and drops the one before, so the dataset has to be confirmed
-- before the next release: that it still means the same is what this line of yours says.
{{ config(post_hook="""
    DO $$
    BEGIN
        IF EXISTS (SELECT FROM dp.datasets WHERE name = 'census') THEN
            PERFORM dp_confirm_dataset('census');
        ELSE
            PERFORM dp_create_dataset('census', '{{ this }}', '{household}', '{state}', '{{ source('raw', 'household') }}',
                                      epsilon_budget => 10);
        END IF;
    END $$
""") }}
SELECT household, born FROM {{ source('raw', 'raw_person') }} WHERE household IS NOT NULL
