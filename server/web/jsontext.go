package web

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"tenure/kv"
)

const hexDigits = "0123456789abcdef"

// appendJSONString writes s as encoding/json does, byte for byte: escaped for HTML too, invalid UTF-8 replaced. By
// hand because reads are the hot path.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	clean := 0 // s[clean:i] needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
				i++
				continue
			}
			b = append(b, s[clean:i]...)
			b = appendEscaped(b, c)
			i++
			clean = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[clean:i]...), `\ufffd`...)
			clean = i + size
		case r == '\u2028' || r == '\u2029': // line ends in JavaScript
			b = append(append(b, s[clean:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xf])
			clean = i + size
		}
		i += size
	}
	return append(append(b, s[clean:]...), '"')
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// field writes one more member of an object, on a line of its own if pretty.
func appendField(b []byte, pretty, first bool, name string) []byte {
	if !first {
		b = append(b, ',')
	}
	if pretty {
		b = append(b, "\n        "...)
	}
	b = append(append(append(b, '"'), name...), '"', ':')
	if pretty {
		b = append(b, ' ')
	}
	return b
}

func appendUintField(b []byte, pretty, first bool, name string, v uint64) []byte {
	return strconv.AppendUint(appendField(b, pretty, first, name), v, 10)
}

// appendEntry appends e as an element of a listing, compact, with its value or null. It is for entries from the state,
// which do not have their remaining time to live.
func appendEntry(b []byte, e *kv.Entry, value bool) []byte {
	b = appendUintField(append(b, '{'), false, true, "LockIndex", e.LockIndex)
	b = appendJSONString(appendField(b, false, false, "Key"), e.Key)
	b = appendUintField(b, false, false, "Flags", e.Flags)
	b = appendField(b, false, false, "Value")
	if value && len(e.Value) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, '"'), e.Value), '"')
	} else {
		b = append(b, "null"...)
	}
	if e.Session != "" {
		b = appendJSONString(appendField(b, false, false, "Session"), e.Session)
	}
	b = appendUintField(b, false, false, "CreateIndex", e.CreateIndex)
	return append(appendUintField(b, false, false, "ModifyIndex", e.ModifyIndex), '}')
}
