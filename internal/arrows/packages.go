package arrows

// Package is a package of the module and what it may import of the others. Any package may import the leaves (see
// Leaves) that its purity allows.
type Package struct {
	// Path is relative to the module. A path that ends in "/..." stands for the package and those below it, which
	// may import each other.
	Path string
	// May lists the packages that non-test files may import.
	May []string
	// Never lists the packages that test files may not import either. Other imports of test files are free.
	Never []string
	// Pure packages are checked by purity.go and maporder.go, and import only the leaves and outside modules that are
	// marked for them.
	Pure bool
}

// Leaf is a package that any package may import, and that imports only leaves.
type Leaf struct {
	Path string
	// Pure tells that pure packages may import it too: what it gives depends on its arguments alone.
	Pure bool
}

// Rules are the arrows of a module.
type Rules struct {
	Packages []Package
	Leaves   []Leaf
	// Only names the outside modules that few packages may import, in tests too, and those packages.
	Only map[string][]string
	// PureModules are the outside modules that pure packages may import.
	PureModules []string
}

// Layout is the module as it is meant to be.
var Layout = Rules{
	Packages: []Package{
		{Path: "lease", Pure: true, Never: []string{"multipaxos"}},
		{Path: "lease/named", Pure: true, May: []string{"lease"}, Never: []string{"multipaxos"}},
		{Path: "multipaxos", Pure: true, Never: []string{"lease"}},
		{Path: "kv", Pure: true},
		{Path: "storage/journal", Pure: true, May: []string{"multipaxos"}},
		{Path: "storage/internal/disk"},
		{Path: "storage/internal/sealed", May: []string{"storage/internal/disk"}},
		{Path: "storage/internal/pages", May: []string{"storage/internal/disk"}},
		{Path: "storage/internal/space", May: []string{"storage/internal/disk", "storage/internal/pages"}},
		{
			Path: "storage/internal/acceptor",
			May: []string{"storage/internal/disk", "storage/internal/sealed", "storage/internal/space", "storage/internal/pages",
				"storage/journal", "multipaxos"},
		},
		{
			Path: "storage/internal/state",
			May: []string{"storage/internal/disk", "storage/internal/sealed", "storage/internal/space", "storage/internal/pages",
				"multipaxos", "kv"},
		},
		{Path: "storage/internal/disktest", May: []string{"storage/internal/pages"}},
		{Path: "storage", May: []string{"storage/internal/disk", "storage/internal/space",
			"storage/internal/acceptor", "storage/internal/state", "storage/internal/pages", "storage/journal", "multipaxos",
			"kv"}},
		{Path: "storage/etcdsnap", May: []string{"storage/internal/pages"}},
		{Path: "server/members", Pure: true},
		{Path: "server/acl", Pure: true},
		{Path: "server/access", May: []string{"server/acl", "kv"}, Never: []string{"server"}},
		{Path: "server/replica/effect", Pure: true},
		{Path: "server/replica/clocks", Pure: true},
		{Path: "server/replica/snapshots", Pure: true},
		{
			Path: "server/replica/leases", Pure: true,
			May: []string{"server/replica/effect", "server/members", "lease", "lease/named"},
		},
		{Path: "server/replica/elector", Pure: true, May: []string{"server/replica/effect", "server/members", "lease"}},
		{
			Path: "server/replica", Pure: true,
			May: []string{
				"server/replica/effect", "server/replica/snapshots", "server/replica/elector", "server/members", "lease",
				"multipaxos", "kv",
			},
		},
		{
			Path: "server/wire", Pure: true,
			May: []string{"server/replica", "server/replica/clocks", "server/replica/snapshots", "server/replica/leases",
				"server/members", "lease", "lease/named", "multipaxos", "kv"},
			Never: []string{"server", "server/transport"},
		},
		{Path: "server/transport", May: []string{"server/wire", "server/admission"}, Never: []string{"server"}},
		{Path: "server/audit", May: []string{"server/metrics"}, Never: []string{"server"}},
		{Path: "server/watch", May: []string{"kv"}, Never: []string{"server"}},
		{Path: "server/backup/tarred"},
		{Path: "server/admission", Never: []string{"server"}},
		{Path: "server/service", May: []string{
			"server/access", "server/acl", "server/admission", "server/audit", "server/slow", "server/watch",
			"server/members",
			"server/replica/leases", "kv",
		}, Never: []string{"server"}},
		{Path: "server/web/ui", Never: []string{"server"}},
		{
			Path: "server/web", May: []string{
				"server/service", "server/web/ui", "server/admission", "server/slow", "server/watch",
				"server/backup/tarred",
				"server/members", "kv",
			},
			Never: []string{"server"},
		},
		{Path: "server/resp/proto"},
		{Path: "server/resp/glob"},
		{Path: "server/resp", May: []string{
			"server/service", "server/resp/proto", "server/resp/glob", "server/admission", "server/slow",
			"server/watch", "kv",
		}, Never: []string{"server"}},
		{Path: "server/guardian", May: []string{"lease", "server/wire"}, Never: []string{"server"}},
		{Path: "server/metrics", Never: []string{"server"}},
		{Path: "server/slow", May: []string{"server/metrics"}, Never: []string{"server"}},
		{Path: "server/history", Pure: true},
		{
			Path: "server/runner", May: []string{
				"server/replica", "server/replica/clocks", "server/replica/snapshots", "server/replica/effect",
				"server/replica/elector", "server/replica/leases",
				"server/members", "server/wire", "server/metrics", "server/slow", "storage", "lease", "lease/named",
				"multipaxos", "kv",
			},
			Never: []string{"server"},
		},
		{
			Path: "server/backend", May: []string{
				"server/runner", "server/replica", "server/replica/effect", "server/replica/elector",
				"server/replica/leases", "server/members", "server/wire", "server/transport", "server/service",
				"server/guardian", "server/metrics", "server/slow", "server/history", "server/backup", "server/backup/tarred",
				"storage", "lease", "lease/named", "kv",
			},
			Never: []string{"server"},
		},
		{Path: "server/backup", May: []string{"storage", "kv"}, Never: []string{"server"}},
		{Path: "server/backup/target", Never: []string{"server"}},
		{Path: "server/archive", Pure: true},
		{Path: "server/recovery/merge", Pure: true, May: []string{"multipaxos"}},
		{
			Path: "server/recovery", May: []string{
				"server/recovery/merge", "server/archive", "server/backup", "server/members", "server/replica",
				"storage", "multipaxos", "kv",
			},
			Never: []string{"server"},
		},
		{
			Path: "server/archiver", May: []string{
				"server/archive", "server/backup", "server/backup/target", "server/recovery", "server/runner", "server/replica",
				"server/wire", "server/metrics", "storage", "multipaxos",
			},
			Never: []string{"server"},
		},
		{Path: "server", May: []string{
			"server/replica", "server/replica/elector", "server/replica/leases", "server/members", "server/runner",
			"server/backend", "server/service", "server/wire", "server/transport", "server/web",
			"server/access", "server/admission", "server/watch", "server/resp",
			"server/guardian", "server/metrics", "server/slow", "server/audit", "server/archive", "server/archiver",
			"server/backup/target",
			"storage", "lease", "lease/named", "multipaxos", "kv",
		}},
		{Path: "client"},
		{
			Path: "client/clienttest",
			May: []string{"server/service", "server/web", "server/access", "server/members", "server/slow",
				"server/watch", "kv"},
			Never: []string{"server"},
		},
		{Path: "cmd/kvnode/...", May: []string{
			"server", "server/admission", "server/audit", "server/guardian", "server/recovery", "server/archive",
			"server/archiver", "server/backup", "server/backup/target", "server/watch", "server/web", "client",
		}},
		{Path: "cmd/kvctl/...", May: []string{
			"server/backup", "server/backup/target", "server/recovery", "storage/etcdsnap", "client",
		}},
		{Path: "jepsen/compare/flease", Pure: true},
		{Path: "jepsen/tamper", May: []string{"storage", "kv"}, Never: []string{"server"}},
		{Path: "jepsen/compare/majority", Pure: true, May: []string{"lease"}},
		{
			Path: "jepsen/...",
			May: []string{"server/replica", "server/replica/clocks", "server/replica/snapshots", "server/replica/effect",
				"server/replica/elector", "server/replica/leases",
				"server/wire", "server/transport", "storage/journal", "lease", "lease/named", "multipaxos", "kv",
				"client", "server/members"},
			Never: []string{"server"},
		},
	},
	Leaves: []Leaf{
		{Path: "api", Pure: true},
		{Path: "internal/arrows"},
		{Path: "internal/ballot", Pure: true},
		{Path: "internal/buildinfo"},
		{Path: "internal/certs"},
		{Path: "internal/certs/certstest"},
		{Path: "internal/clock"},
		{Path: "internal/codec", Pure: true},
		{Path: "internal/completion"},
		{Path: "internal/days", Pure: true},
		{Path: "internal/devcluster"},
		{Path: "internal/docs"},
		{Path: "internal/docs/blocks"},
		{Path: "internal/drain", Pure: true},
		{Path: "internal/faultfs"},
		{Path: "internal/frames", Pure: true},
		{Path: "internal/freeport"},
		{Path: "internal/hostname", Pure: true},
		{Path: "internal/ident", Pure: true},
		{Path: "internal/input"},
		{Path: "internal/jitter", Pure: true},
		{Path: "internal/leasehold", Pure: true},
		{Path: "internal/manpage"},
		{Path: "internal/lostfound"},
		{Path: "internal/memlimit"},
		{Path: "internal/oslimit"},
		{Path: "internal/ownfile"},
		{Path: "internal/procend"},
		{Path: "internal/process"},
		{Path: "internal/progress"},
		{Path: "internal/quorum", Pure: true},
		{Path: "internal/servicelink", Pure: true},
		{Path: "internal/shown", Pure: true},
		{Path: "internal/suggest", Pure: true},
		{Path: "internal/testseed"},
		{Path: "internal/utf8text", Pure: true},
		{Path: "internal/wrongport", Pure: true},
	},
	Only: map[string][]string{
		"go.etcd.io/bbolt": {"storage", "storage/internal/disk", "storage/internal/sealed", "storage/internal/space",
			"storage/internal/acceptor", "storage/internal/state", "storage/internal/pages", "storage/etcdsnap"},
		"github.com/hashicorp/go-msgpack/v2": {"internal/codec"},
		"github.com/minio/minio-go/v7":       {"server/backup/target"},
		"github.com/hashicorp/hcl":           {"server/acl"},
	},
	PureModules: []string{"github.com/tidwall/btree", "github.com/hashicorp/hcl"},
}
