package main

import (
	"strings"

	"github.com/spf13/pflag"

	"tenure/server"
)

const envPrefix = "KVNODE_"

// resolve reads the sources that the command line left open and returns the checked configuration. The flags must
// have been parsed. It reads --config and nothing else, and writes nothing.
func (s *settings) resolve(environ []string) (server.Config, error) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			s.origin[f.Name] = "--" + f.Name
		}
	})
	if err := s.fromEnv(environ); err != nil {
		return server.Config{}, err
	}
	if err := s.fromFile(); err != nil {
		return server.Config{}, err
	}
	return s.build()
}

// set takes one value from a lesser source, unless a greater one has given it.
func (s *settings) set(flag, text, origin string) error {
	if s.given(flag) {
		return nil
	}
	if err := s.flags.Lookup(flag).Value.Set(text); err != nil {
		return badConfig("%s: %v", origin, err)
	}
	s.origin[flag] = origin
	return nil
}

func (s *settings) fromEnv(environ []string) error {
	for _, e := range environ {
		name, text, _ := strings.Cut(e, "=")
		short, ours := strings.CutPrefix(name, envPrefix)
		if !ours {
			continue
		}
		flag := strings.ReplaceAll(strings.ToLower(short), "_", "-")
		if envName(flag) != name || s.flags.Lookup(flag) == nil {
			return badConfig("%s is no setting; unset it, or see kvnode --help for the names", name)
		}
		if err := s.set(flag, text, name); err != nil {
			return err
		}
	}
	return nil
}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
