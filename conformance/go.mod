module github.com/looptape/looptape/conformance

go 1.26.0

replace github.com/looptape/looptape => ../

require (
	charm.land/fantasy v0.3.0
	github.com/google/go-cmp v0.7.0
	github.com/looptape/looptape v0.0.0
	go.yaml.in/yaml/v3 v3.0.6
)

require (
	github.com/RealAlexandreAI/json-repair v0.0.14 // indirect
	github.com/charmbracelet/x/exp/slice v0.0.0-20250904123553-b4e2667e5ad5 // indirect
	github.com/go-json-experiment/json v0.0.0-20250910080747-cc2cfa0554c3 // indirect
	github.com/go-viper/mapstructure/v2 v2.4.0 // indirect
	github.com/goccy/go-yaml v1.18.0 // indirect
	github.com/kaptinlin/go-i18n v0.2.0 // indirect
	github.com/kaptinlin/jsonschema v0.5.2 // indirect
	github.com/kaptinlin/messageformat-go v0.4.5 // indirect
	golang.org/x/text v0.29.0 // indirect
)
