-- Released under a name: charged once, however often this model is run or shown.
-- depends_on: {{ ref('person') }}
SELECT level, path[1] AS state, size, groups AS households
  FROM dp_hierarchy_release('census', 1, name => '{{ var("release") }}')
