module example.com/embed

go 1.26.0

require clawbot v0.0.0

require github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect

replace clawbot => ../..
