package general

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// hostRules returns the canonical forms of Config.Hosts, or an error for one that no host can match.
func hostRules(cfg *Config) ([]string, error) {
	rules := make([]string, len(cfg.Hosts))
	for i, text := range cfg.Hosts {
		below, wild := strings.CutPrefix(text, "*.")
		name, err := canonicalHost(below)
		addr, isAddr := netip.ParseAddr(name)
		switch {
		case text == "*":
			name = text
		case err != nil, isAddr != nil && (!isName.MatchString(name) || isNumber.MatchString(name)), isAddr == nil && wild:
			return nil, fmt.Errorf("Config.Hosts[%d]: %q is not a host: write a name such as \"example.org\" or an address, without scheme, port and path, "+
				"\"*.example.org\" for the hosts below a name, or \"*\" for any host", i, text)
		case isAddr == nil && !cfg.PrivateHosts && !isPublic(addr):
			return nil, fmt.Errorf("Config.Hosts[%d]: the address %s is not public: set Config.PrivateHosts, or remove it", i, addr)
		case isLocalhost(name) && !cfg.PrivateHosts && cfg.Transport == nil:
			return nil, fmt.Errorf("Config.Hosts[%d]: the addresses of %q are not public: set Config.PrivateHosts, or remove it", i, text)
		case wild:
			name = "*." + name
		}
		rules[i] = name
	}
	return rules, nil
}

// isLocalhost reports whether a name has addresses of the loopback interface only (RFC 6761).
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// isName matches names of hosts in lower case: labels of at most 63 characters. DNS also permits "_".
var isName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)

// isNumber matches other forms of IPv4 addresses, which some resolvers accept: decimal, octal,
// hexadecimal and shortened ones.
var isNumber = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)

// canonicalHost returns the form in which hosts are compared: in lower case, without a final dot, names in ASCII
// as package http sends them, and addresses in their shortest form.
func canonicalHost(host string) (string, error) {
	name := strings.ToLower(host)
	if strings.ContainsFunc(host, func(r rune) bool { return r > 0x7f }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", fmt.Errorf("the host %q is not a valid name: %w", host, err)
		}
		name = ascii
	}
	name = strings.TrimSuffix(name, ".")
	if addr, err := netip.ParseAddr(name); err == nil {
		name = addr.String()
	}
	return name, nil
}

// matchesHost reports whether a rule permits a host. Both are canonical.
func matchesHost(rule, host string) bool {
	below, wild := strings.CutPrefix(rule, "*.")
	return rule == "*" || rule == host || wild && strings.HasSuffix(host, "."+below)
}
