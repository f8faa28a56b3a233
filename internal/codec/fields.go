package codec

import "math"

// Fields reads the elements of one struct: those that an older version did not write are left zero, and those that a
// newer one has added are skipped.
type Fields struct {
	r    *Reader
	left int
}

// Struct begins to read a struct.
func (r *Reader) Struct() Fields { return Fields{r, r.Array()} }

// Next reports whether there is another field. End comes after the last that is known.
func (f *Fields) Next() bool {
	if f.left == 0 || f.r.err != nil {
		return false
	}
	f.left--
	return true
}

// More reports whether Next would find a field.
func (f *Fields) More() bool { return f.left > 0 && f.r.err == nil }

// Uint returns the next field, 0 if it is missing.
func (f *Fields) Uint() uint64 { return f.Small(math.MaxUint64) }

// Small returns the next field, a number of at most limit.
func (f *Fields) Small(limit uint64) uint64 {
	if !f.Next() {
		return 0
	}
	return f.r.Uint(limit)
}

// Int returns the next field.
func (f *Fields) Int() int64 {
	if !f.Next() {
		return 0
	}
	return f.r.Int()
}

// Bool returns the next field.
func (f *Fields) Bool() bool { return f.Next() && f.r.Bool() }

// Bytes returns the next field, uncopied.
func (f *Fields) Bytes() []byte {
	if !f.Next() {
		return nil
	}
	return f.r.Bytes()
}

// Struct returns the next field, one without elements if it is missing.
func (f *Fields) Struct() Fields {
	if !f.Next() {
		return Fields{r: f.r}
	}
	return f.r.Struct()
}

// Skip skips the next field.
func (f *Fields) Skip() {
	if f.Next() {
		f.r.Skip()
	}
}

// End skips the fields that this version does not know.
func (f *Fields) End() {
	for f.Next() {
		f.r.Skip()
	}
}
