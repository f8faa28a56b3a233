package arrows

import (
	"slices"
	"strings"
)

// Imports are the breaches of the arrows between rooms.
func (t *Tree) Imports(r Rules) []Finding {
	var out []Finding
	for _, p := range t.sorted() {
		room, ok := r.room(p.path)
		if !ok {
			out = append(out, t.at(p.files[0].ast.Name.Pos(),
				"package %s is in no room: add it to internal/arrows/rooms.go with what it may import", p.path))
			continue
		}
		for _, f := range p.files {
			for _, s := range f.ast.Imports {
				if why := t.barred(r, room, p.path, importPath(s), f.test); why != "" {
					out = append(out, t.at(s.Pos(), "%s imports %s: %s", p.path, importPath(s), why))
				}
			}
		}
	}
	return out
}

// barred says why the package may not import imp, or "".
func (t *Tree) barred(r Rules, room Room, pkg, imp string, test bool) string {
	to, ours := t.local(imp)
	switch {
	case ours:
		return r.barredRoom(room, pkg, to, test)
	case standard(imp):
		return "" // purity.go judges these
	}
	for mod, rooms := range r.Only {
		if within(imp, mod) && !slices.Contains(rooms, pkg) {
			return "only " + strings.Join(rooms, ", ") + " may"
		}
	}
	if room.Pure && !test && !slices.ContainsFunc(r.PureModules, func(m string) bool { return within(imp, m) }) {
		return "a pure room imports no such module"
	}
	return ""
}

func (r Rules) barredRoom(room Room, pkg, to string, test bool) string {
	if slices.Contains(room.Never, to) {
		return "never, in tests neither"
	}
	if test || to == pkg {
		return ""
	}
	if i := slices.IndexFunc(r.Leaves, func(l Leaf) bool { return l.Path == to }); i >= 0 {
		if room.Pure && !r.Leaves[i].Pure {
			return "that leaf is not for pure rooms"
		}
		return ""
	}
	if slices.Contains(room.May, to) || matches(room.Path, to) && matches(room.Path, pkg) {
		return ""
	}
	if len(room.May) == 0 {
		return "it may import leaves only"
	}
	return "it may import " + strings.Join(room.May, ", ") + " and leaves"
}

// room is the entry for a package; a leaf is a room that may import leaves only.
func (r Rules) room(pkg string) (Room, bool) {
	for _, l := range r.Leaves {
		if l.Path == pkg {
			return Room{Path: pkg}, true
		}
	}
	for _, room := range r.Rooms {
		if matches(room.Path, pkg) {
			return room, true
		}
	}
	return Room{}, false
}

func matches(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(pkg, base)
	}
	return pattern == pkg
}

// within tells whether path is base or lies below it.
func within(path, base string) bool {
	return path == base || strings.HasPrefix(path, base+"/")
}
