// Within the tree of adk, so that its httprr, which is internal, can be measured. It is
// never published.
module google.golang.org/adk/v2/measured

go 1.26.5

require google.golang.org/adk/v2 v2.2.0
