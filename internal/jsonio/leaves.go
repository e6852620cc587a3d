package jsonio

// Leaves replaces in place what is neither an object nor an array in a value as package
// encoding/json decodes it, and returns the value.
func Leaves(v any, with func(leaf any) any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = Leaves(v[i], with)
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = Leaves(v[name], with)
		}
		return v
	}
	return with(v)
}
