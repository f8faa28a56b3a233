package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"tenure/internal/ownfile"
	"tenure/internal/suggest"
	"tenure/internal/utf8text"
)

const maxFileBytes = 1 << 20

// fromFile takes the settings of the file that --config names, if it names one.
func (s *sources) fromFile() error {
	if s.config == "" {
		return nil
	}
	values, err := readFile(s.config)
	if err != nil {
		return badConfig("%s %s: %v", s.name("config"), s.config, err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		origin := name + " in " + s.config
		if s.flags.Lookup(name) == nil || name == "config" {
			names := slices.DeleteFunc(flagNames(s.flags), func(n string) bool { return n == "config" })
			return badConfig("%s is not a setting; remove it, or see kvnode --help for the names%s",
				origin, suggest.Question(name, "", names))
		}
		text, err := scalar(values[name])
		if err != nil {
			return badConfig("%s: %v", origin, err)
		}
		if err := s.set(name, text, origin); err != nil {
			return err
		}
	}
	return nil
}

func readFile(name string) (map[string]any, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, cannotBeRead(err)
	}
	defer f.Close()
	decode, err := decoder(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, cannotBeRead(err)
	}
	if len(b) > maxFileBytes {
		return nil, fmt.Errorf("is larger than %d bytes; is it the right file?", maxFileBytes)
	}
	text, encoding := utf8text.Of(b)
	if encoding == nil {
		b = text
	}
	values := map[string]any{}
	if err := decode(b, &values); err != nil && encoding != nil { // YAML may be UTF-16
		return nil, encoding
	} else if err != nil {
		return nil, fmt.Errorf("is malformed: %w", err)
	}
	return values, nil
}

func cannotBeRead(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("cannot be read: %w", ownfile.Unreadable(err))
	}
	return fmt.Errorf("cannot be read (%w); name a file that can", err)
}

func decoder(name string) (func([]byte, any) error, error) {
	switch filepath.Ext(name) {
	case ".toml":
		return toml.Unmarshal, nil
	case ".yaml", ".yml":
		return yaml.Unmarshal, nil
	}
	return nil, fmt.Errorf("has an unknown format; its name must end in .toml, .yaml or .yml")
}

// scalar returns the text that the flag would be given. A list of texts stands for one text with commas.
func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			part, ok := x.(string)
			if !ok {
				return "", fmt.Errorf("%v in the list is not a text; put it in quotes", x)
			}
			parts[i] = part
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("is not a single value; write what the flag would be given")
}
