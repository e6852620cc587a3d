package mcp

import (
	"crypto/sha256"
	"fmt"
	"regexp"
)

// maxName is the length of the longest tool name that providers accept.
const maxName = 64

// notInName matches the characters that providers reject in the name of a tool.
var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// namespaceRule matches the names of namespaces. Without "__" in them, the namespace of a tool is what
// precedes the first "__" of its name.
var namespaceRule = regexp.MustCompile(`^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$`)

// maxNamespace leaves space for the name of a tool.
const maxNamespace = 32

// ToolName returns the name that the model gets for a tool of a server: namespace__name. Providers
// accept 64 letters, digits, "_" and "-". If the name does not fit, each other character becomes "_",
// the name is cut to 55 bytes, and "_" and the first eight hexadecimal digits of the SHA-256 of
// namespace__name follow. So the name depends on nothing else, and similar names stay different.
func ToolName(namespace, name string) string {
	full := namespace + "__" + name
	fit := notInName.ReplaceAllString(full, "_")
	if fit == full && len(full) <= maxName {
		return full
	}
	sum := fmt.Sprintf("_%x", sha256.Sum256([]byte(full)))[:9]
	return fit[:min(len(fit), maxName-len(sum))] + sum
}

// checkNamespace returns an error if a namespace cannot precede the names of tools.
func checkNamespace(name string) error {
	if !namespaceRule.MatchString(name) || len(name) > maxNamespace {
		return fmt.Errorf("mcp: the namespace %q: want 1 to %d letters, digits, - and single _ between them", name, maxNamespace)
	}
	return nil
}
