package main

import (
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"tenure/internal/servicelink"
	"tenure/internal/suggest"
	"tenure/server"
)

const envPrefix = "KVNODE_"

// sources are the places from which settings come: flags, variables and a file.
type sources struct {
	flags *pflag.FlagSet // the only table of names
	// origin tells for each setting that was given where it was, in a user's words.
	origin     map[string]string
	config     string   // the file; "": none
	ofServices []string // variables that look like settings, and that Kubernetes has set
}

func newSources() sources {
	f := pflag.NewFlagSet("kvnode", pflag.ContinueOnError)
	f.SortFlags = false
	return sources{flags: f, origin: map[string]string{}}
}

func (s *sources) rows() []row {
	return []row{{"config", text(&s.config, "file"), "TOML or YAML file with settings under the names of these flags"}}
}

// name returns where a setting was given: "--lease-time", "KVNODE_LEASE_TIME" or "lease-time in node.toml".
func (s *sources) name(flag string) string {
	if o := s.origin[flag]; o != "" {
		return o
	}
	return "--" + flag
}

// given reports whether a setting was given at all.
func (s *sources) given(flag string) bool { return s.origin[flag] != "" }

// resolve adds the environment and the configuration file to the flags, which must have been parsed, and returns the
// checked configuration. It reads the file of --config and, where it must, whose data directory that of --data is. It
// writes nothing.
func (s *settings) resolve(environ []string) (server.Config, error) {
	if err := s.collect(environ); err != nil {
		return server.Config{}, err
	}
	return s.build()
}

// collect takes the settings from all sources.
func (s *sources) collect(environ []string) error {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			s.origin[f.Name] = "--" + f.Name
		}
	})
	if err := s.fromEnv(environ); err != nil {
		return err
	}
	return s.fromFile()
}

// set takes one value from a source, unless one of higher precedence has set it.
func (s *sources) set(flag, text, origin string) error {
	if s.given(flag) {
		return nil
	}
	if err := s.flags.Lookup(flag).Value.Set(text); err != nil {
		return badConfig("%s: %v", origin, err)
	}
	s.origin[flag] = origin
	return nil
}

// checkRules refuses values that break the rules of their rows.
func (s *sources) checkRules() (err error) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(interface{ broken(name string) string }); ok && err == nil {
			if why := v.broken(f.Name); why != "" {
				err = badConfig("%s %s", s.name(f.Name), why)
			}
		}
	})
	return err
}

func (s *sources) fromEnv(environ []string) error {
	for _, e := range environ {
		name, text, _ := strings.Cut(e, "=")
		short, ours := strings.CutPrefix(name, envPrefix)
		if !ours || text == "" { // who sets one to nothing means that it is not set
			continue
		}
		flag := strings.ReplaceAll(strings.ToLower(short), "_", "-")
		if envName(flag) != name || s.flags.Lookup(flag) == nil {
			if servicelink.Is(short, text) {
				s.ofServices = append(s.ofServices, name)
				continue
			}
			var names []string
			for _, f := range flagNames(s.flags) {
				names = append(names, strings.TrimPrefix(envName(f), envPrefix))
			}
			return badConfig("%s is not a setting; unset it, or see kvnode --help for the names%s",
				name, suggest.Question(short, envPrefix, names))
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

// changed returns the settings that were given and are not the defaults, for the log. None of them is a secret: those
// are in files, and only the names of the files are settings. An address with a password in it is shown without.
func (s *sources) changed() map[string]string {
	out := map[string]string{}
	s.flags.VisitAll(func(f *pflag.Flag) {
		if text := f.Value.String(); s.given(f.Name) && text != f.DefValue {
			out[f.Name] = withoutPassword(text)
		}
	})
	return out
}

// withoutPassword returns text without the password and the query that it has if it is a URL.
func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}
