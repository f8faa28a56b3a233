package arrows

import (
	"maps"
	"slices"
	"strings"
)

// Imports returns the breaches of the arrows between packages.
func (t *Tree) Imports(r Rules) []Finding {
	var out []Finding
	for _, p := range t.sorted() {
		layer, ok := r.layer(p.path)
		if !ok {
			out = append(out, t.at(p.files[0].ast.Name.Pos(),
				"package %s is not listed: add it to internal/arrows/packages.go with what it may import", p.path))
			continue
		}
		for _, f := range p.files {
			for _, s := range f.ast.Imports {
				if why := t.barred(r, layer, p.path, importPath(s), f.test); why != "" {
					out = append(out, t.at(s.Pos(), "%s imports %s: %s", p.path, importPath(s), why))
				}
			}
		}
	}
	return out
}

// Unused returns what the rules allow and no import needs.
func (t *Tree) Unused(r Rules) (out []string) {
	type arrow struct{ from, to string }
	used := map[arrow]bool{}
	for _, p := range t.sorted() {
		layer, _ := r.layer(p.path)
		for _, f := range p.files {
			for _, s := range f.ast.Imports {
				to, ours := t.local(importPath(s))
				if ours && !f.test {
					used[arrow{layer.Path, to}] = true
				}
				for mod := range r.Only {
					if within(to, mod) {
						used[arrow{p.path, mod}] = true
					}
				}
			}
		}
	}
	allowed := func(from, to string) {
		if !used[arrow{from, to}] {
			out = append(out, from+" may import "+to+" and does not: remove that from internal/arrows/packages.go")
		}
	}
	for _, p := range r.Packages {
		for _, to := range p.May {
			allowed(p.Path, to)
		}
	}
	for _, mod := range slices.Sorted(maps.Keys(r.Only)) {
		for _, from := range r.Only[mod] {
			allowed(from, mod)
		}
	}
	return out
}

// barred returns why the package may not import imp, "" if it may.
func (t *Tree) barred(r Rules, layer Package, pkg, imp string, test bool) string {
	to, ours := t.local(imp)
	switch {
	case ours:
		return r.barredPackage(layer, pkg, to, test)
	case standard(imp):
		return "" // purity.go checks these
	}
	for mod, packages := range r.Only {
		if within(imp, mod) && !slices.Contains(packages, pkg) {
			return "only " + strings.Join(packages, ", ") + " may"
		}
	}
	if layer.Pure && !test && !slices.ContainsFunc(r.PureModules, func(m string) bool { return within(imp, m) }) {
		return "a pure package imports no such module"
	}
	return ""
}

func (r Rules) barredPackage(layer Package, pkg, to string, test bool) string {
	if slices.Contains(layer.Never, to) {
		return "never, in tests neither"
	}
	if test || to == pkg {
		return ""
	}
	if i := slices.IndexFunc(r.Leaves, func(l Leaf) bool { return l.Path == to }); i >= 0 {
		if layer.Pure && !r.Leaves[i].Pure {
			return "that leaf is not for pure packages"
		}
		return ""
	}
	if slices.Contains(layer.May, to) || matches(layer.Path, to) && matches(layer.Path, pkg) {
		return ""
	}
	if len(layer.May) == 0 {
		return "it may import leaves only"
	}
	return "it may import " + strings.Join(layer.May, ", ") + " and leaves"
}

// layer returns the entry of a package; a leaf is a package that may import leaves only.
func (r Rules) layer(pkg string) (Package, bool) {
	for _, l := range r.Leaves {
		if l.Path == pkg {
			return Package{Path: pkg}, true
		}
	}
	for _, layer := range r.Packages {
		if matches(layer.Path, pkg) {
			return layer, true
		}
	}
	return Package{}, false
}

func matches(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(pkg, base)
	}
	return pattern == pkg
}

// within reports whether path is base or lies below it.
func within(path, base string) bool {
	return path == base || strings.HasPrefix(path, base+"/")
}
