package fake

import "reflect"

// clone returns a deep copy of a value without unexported fields, apart from those of errors, which are the same.
func clone[T any](v T) T { return deepCopy(reflect.ValueOf(&v).Elem()).Interface().(T) }

func deepCopy(v reflect.Value) reflect.Value {
	if v.IsZero() || v.Type() == reflect.TypeFor[error]() { // a copy of an error would be another one
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(deepCopy(v.Elem()))
	case reflect.Interface:
		out.Set(deepCopy(v.Elem()))
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(deepCopy(v.Field(i)))
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		reflect.Copy(out, v)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break // copied
		}
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(key, deepCopy(value))
		}
	default:
	}
	return out
}
