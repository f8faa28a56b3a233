package main

import (
	"cmp"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/days"
	"tenure/internal/hostname"
	"tenure/server"
)

// value is a pflag.Value that keeps the text it was set to.
type value[T any] struct {
	to    *T
	parse func(string) (T, error)
	text  string
	kind  string
	rule  string // what must hold, with %s for the name; "": anything
	holds func(T) bool
}

// setting sets *to to the default and returns the flag value that changes it. A bad default is an error in this
// program.
func setting[T any](to *T, def, kind string, parse func(string) (T, error)) *value[T] {
	v := &value[T]{to: to, parse: parse, kind: kind}
	if def != "" {
		if err := v.Set(def); err != nil {
			panic(err)
		}
	}
	return v
}

// Set implements pflag.Value. After an error the old value stays.
func (v *value[T]) Set(text string) error {
	x, err := v.parse(text)
	if err != nil {
		return err
	}
	*v.to, v.text = x, text
	return nil
}

// String implements pflag.Value.
func (v *value[T]) String() string { return v.text }

// Type implements pflag.Value. It returns the word for the value in help texts.
func (v *value[T]) Type() string { return v.kind }

// The kinds of settings that several have.

func text(to *string, kind string) *value[string] { return setting(to, "", kind, parseText) }

func listen(to *string, def string) *value[string] { return setting(to, def, "addr", parseListener) }

func reachable(to *string) *value[string] { return setting(to, "", "addr", parseReachable) }

func file(to *string) *value[string] { return setting(to, "", "file", parseFile) }

func boolean(to *bool, def string) *value[bool] { return setting(to, def, "bool", parseBool) }

func count(to *int, def int) *value[int] { return setting(to, strconv.Itoa(def), "number", parseCount) }

func duration(to *time.Duration, def string) *value[time.Duration] {
	return setting(to, def, "duration", parseDuration)
}

func size[T int | int64](to *T, def T) *value[T] {
	return setting(to, sizeText(int64(def)), "bytes", func(s string) (T, error) {
		n, err := parseBytes(s)
		return T(n), err
	})
}

// broken returns the value and the rule that it breaks, in words, or "".
func (v *value[T]) broken(name string) string {
	if v.rule == "" || v.holds(*v.to) {
		return ""
	}
	return fmt.Sprintf("%v: ", *v.to) + fmt.Sprintf(v.rule, name)
}

// must adds a rule, which sources.checkRules checks: what holds, in words.
func must[T any](v *value[T], holds func(T) bool, rule string) *value[T] {
	v.holds, v.rule = holds, rule+" must hold"
	return v
}

// advised has the rule of a setting advise the default.
func advised[T any](v *value[T]) *value[T] {
	v.rule += "; use " + v.text
	return v
}

func within[T cmp.Ordered](v *value[T], least, most T) *value[T] {
	return must(v, func(x T) bool { return x >= least && x <= most }, fmt.Sprintf("%v <= %%s <= %v", least, most))
}

func atLeast[T cmp.Ordered](v *value[T], least T) *value[T] {
	return must(v, func(x T) bool { return x >= least }, fmt.Sprintf("%%s >= %v", least))
}

func atMost[T cmp.Ordered](v *value[T], most T) *value[T] {
	return must(v, func(x T) bool { return x <= most }, fmt.Sprintf("%%s <= %v", most))
}

// upTo is for what must be more than 0.
func upTo[T cmp.Ordered](v *value[T], most T) *value[T] {
	var zero T
	return must(v, func(x T) bool { return x > zero && x <= most }, fmt.Sprintf("0 < %%s <= %v", most))
}

func parseText(s string) (string, error) { return s, nil }

func parseDir(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("is empty; name a directory")
	}
	return s, nil
}

// parseCount does not check bounds.
func parseCount(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number; write it like 3", s)
	}
	return int(n), nil
}

func parseNodeID(s string) (ballot.NodeID, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a node id; use a number from 1 to %d", s, ballot.MaxNodeID)
	}
	return ballot.NodeID(n), nil
}

// parseCluster reads ID=HOST:PORT,… and leaves the order as it is.
func parseCluster(s string) ([]server.Address, error) {
	var list []server.Address
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		id, addr, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not ID=HOST:PORT; write it like 1=10.0.0.1:8300,2=10.0.0.2:8300", part)
		}
		node, err := parseNodeID(id)
		if err != nil {
			return nil, err
		}
		reachable, err := isReachable(addr)
		if err != nil {
			return nil, err
		}
		if !reachable {
			return nil, fmt.Errorf("%q is not an address that others can reach; give the host and the port of node %d",
				addr, node)
		}
		list = append(list, server.Address{Node: node, Addr: addr})
	}
	return list, nil
}

// parseListener accepts port 0 (any free one), an empty host (all interfaces), and nothing (off).
func parseListener(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	_, _, err := splitAddress(s)
	return s, err
}

// parseHealth accepts what parseListener does, and a port alone, with or without its colon. A port alone means
// loopback: the health port asks nobody for credentials, so users must open it to others explicitly.
func parseHealth(s string) (string, error) {
	if port := strings.TrimPrefix(s, ":"); port != "" && strings.Trim(port, "0123456789") == "" {
		s = "127.0.0.1:" + port
	}
	return parseListener(s)
}

// isReachable reports whether an address names a host and a port: one to listen on need not.
func isReachable(addr string) (bool, error) {
	host, port, err := splitAddress(addr)
	ip := net.ParseIP(host)
	return host != "" && port != 0 && (ip == nil || !ip.IsUnspecified()), err
}

// parseReachable accepts an address that another machine can connect to, or nothing. Names are left as they are: they
// are resolved whenever a connection is made.
func parseReachable(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	reachable, err := isReachable(s)
	if err == nil && !reachable {
		err = fmt.Errorf("%q is not an address that others can reach; give a host and a port, like 10.0.0.1:8300", s)
	}
	return s, err
}

func splitAddress(s string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not HOST:PORT; write it like 127.0.0.1:8300 or [::1]:8300", s)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q has no port number; use one from 1 to 65535, as in 127.0.0.1:8300", s)
	}
	if !hostname.ValidAddress(s) {
		return "", 0, fmt.Errorf("%q: %q is no name of a host: one has letters, digits, dots, - and _", s, host)
	}
	return host, uint16(n), nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := days.ParseSigned(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a length of time; write it with its unit, like 500ms or 2s", s)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative; use 0 or more", s)
	}
	return d, nil
}

// parseList reads texts between commas.
func parseList(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	list := strings.Split(s, ",")
	for i := range list {
		if list[i] = strings.TrimSpace(list[i]); list[i] == "" {
			return nil, fmt.Errorf("%q has an empty element; remove the comma", s)
		}
	}
	return list, nil
}

// parseDrift reads a fraction or a percentage into parts per million, rounded up: the bound must hold.
func parseDrift(s string) (int64, error) {
	scale := int64(1e6)
	number, percent := strings.CutSuffix(s, "%")
	if percent {
		scale = 1e4
	}
	r, ok := new(big.Rat), false
	if len(number) <= 20 && !strings.ContainsAny(number, "/eEpPxX") {
		r, ok = r.SetString(number)
	}
	if !ok {
		return 0, fmt.Errorf("%q is not a rate; write it like 0.01 or 1%%", s)
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	if r.Sign() < 0 || r.Cmp(new(big.Rat).SetInt64(maxDriftPPM)) > 0 {
		return 0, fmt.Errorf("%q is out of bounds: 0 <= drift <= 10%% must hold; 1%% suits every sound clock", s)
	}
	up := new(big.Int).Add(r.Num(), new(big.Int).Sub(r.Denom(), big.NewInt(1)))
	return up.Div(up, r.Denom()).Int64(), nil
}

var units = []struct {
	name string
	size int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// sizeText returns n as users write it.
func sizeText(n int64) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n > 0 && n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return strconv.FormatInt(n, 10)
}

func parseBytes(s string) (int64, error) {
	number, size := s, int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			number, size = strings.TrimSpace(n), u.size
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || int64(n) > (1<<63-1)/size {
		return 0, fmt.Errorf("%q is not a size; write it like 1048576, 512KiB or 10GiB", s)
	}
	return int64(n) * size, nil
}

func parseLevel(s string) (zerolog.Level, error) {
	switch l, err := zerolog.ParseLevel(s); {
	case err == nil && l >= zerolog.TraceLevel && l <= zerolog.ErrorLevel && s != "":
		return l, nil
	default:
		return 0, fmt.Errorf("%q is not a level; use trace, debug, info, warn or error", s)
	}
}

func parseFormat(s string) (string, error) {
	switch s {
	case formatJSON, formatText:
		return s, nil
	case "console": // zerolog's word for it
		return formatText, nil
	}
	return "", fmt.Errorf("%q is not a format; use json or text", s)
}

func parseBool(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", s)
	}
	return b, nil
}
