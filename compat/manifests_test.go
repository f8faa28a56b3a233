package compat

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// manifests are those of ../packaging/kubernetes, as kustomize makes them.
type manifests struct {
	set      appsv1.StatefulSet
	services map[string]corev1.Service
	budget   policyv1.PodDisruptionBudget
}

// loadManifests decodes them by the types of Kubernetes: a field that these lack, or that is there twice, fails the
// test.
func loadManifests(t *testing.T) (m manifests) {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
		Run(filesys.MakeFsOnDisk(), filepath.FromSlash("../packaging/kubernetes"))
	if err != nil {
		t.Fatal(err)
	}
	m.services = map[string]corev1.Service{}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var service corev1.Service
		into := map[string]any{"StatefulSet": &m.set, "Service": &service, "PodDisruptionBudget": &m.budget}[r.GetKind()]
		if into == nil {
			t.Fatalf("a %s is not known to this test", r.GetKind())
		}
		// The decoder of Kubernetes' own server: that of encoding/json takes names in any mixture of cases.
		text, err = yaml.YAMLToJSONStrict(text)
		if err != nil {
			t.Fatal(err)
		}
		if strict, err := json.UnmarshalStrict(text, into); err != nil || len(strict) > 0 {
			t.Fatalf("%s %s: %v %v", r.GetKind(), r.GetName(), err, strict)
		}
		if r.GetKind() == "Service" {
			m.services[r.GetName()] = service
		}
	}
	return m
}

func TestKubernetesTakesTheManifests(t *testing.T) {
	m := loadManifests(t)
	pod := m.set.Spec.Template
	if len(pod.Spec.Containers) != 1 || *m.set.Spec.Replicas != 3 || m.set.Spec.Ordinals.Start != 1 {
		t.Fatalf("%+v", m.set.Spec)
	}
	node := pod.Spec.Containers[0]
	if node.Image != "registry.example.com/tenure:1.2.3" {
		t.Errorf("kustomize makes the image %s", node.Image)
	}
	t.Run("everything selects the pods", func(t *testing.T) {
		apart := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		selectors := map[string]map[string]string{
			"the set": m.set.Spec.Selector.MatchLabels, "the budget": m.budget.Spec.Selector.MatchLabels,
			"the affinity": apart.LabelSelector.MatchLabels,
		}
		for name, s := range m.services {
			selectors[name] = s.Spec.Selector
		}
		for what, selector := range selectors {
			if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s selects %v", what, selector)
			}
		}
	})
	t.Run("the nodes have names before they are ready", func(t *testing.T) {
		peers, ok := m.services[m.set.Spec.ServiceName]
		if !ok || peers.Spec.ClusterIP != corev1.ClusterIPNone || !peers.Spec.PublishNotReadyAddresses ||
			m.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
			t.Errorf("%+v", peers.Spec)
		}
	})
	t.Run("ports and volumes exist", func(t *testing.T) { checkReferences(t, m) })
	t.Run("the pod is restricted", func(t *testing.T) { checkRestricted(t, pod.Spec) })
}

func checkReferences(t *testing.T, m manifests) {
	pod := m.set.Spec.Template.Spec
	node, ports := pod.Containers[0], map[string]bool{}
	for _, p := range node.Ports {
		ports[p.Name] = true
	}
	for name, s := range m.services {
		for _, p := range s.Spec.Ports {
			if !ports[p.TargetPort.StrVal] {
				t.Errorf("the port %s of %s leads nowhere", p.TargetPort.StrVal, name)
			}
		}
	}
	for _, p := range []*corev1.Probe{node.ReadinessProbe, node.LivenessProbe} {
		if p.HTTPGet.Port.StrVal != "health" || !strings.HasPrefix(p.HTTPGet.Path, "/health/") {
			t.Errorf("%+v", p.HTTPGet)
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range m.set.Spec.VolumeClaimTemplates {
		volumes[c.Name] = true
	}
	for _, v := range node.VolumeMounts {
		if !volumes[v.Name] {
			t.Errorf("there is no volume %s", v.Name)
		}
		delete(volumes, v.Name)
	}
	if len(volumes) > 0 {
		t.Errorf("volumes that are not mounted: %v", volumes)
	}
}

// checkRestricted checks what the policy "restricted" of Kubernetes asks for.
func checkRestricted(t *testing.T, pod corev1.PodSpec) {
	p, c := pod.SecurityContext, pod.Containers[0].SecurityContext
	if !*p.RunAsNonRoot || *p.RunAsUser == 0 || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod: %+v", p)
	}
	if *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem ||
		!slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container: %+v", c)
	}
	if *pod.AutomountServiceAccountToken || pod.HostNetwork || pod.HostPID {
		t.Error("the pod is given more than it needs")
	}
}

// The command lines have only flags that the programs have, and only variables that are filled in.
func TestTheManifestsHaveFlagsThatExist(t *testing.T) {
	m := loadManifests(t)
	node := m.set.Spec.Template.Spec.Containers[0]
	environ := map[string]bool{}
	for _, e := range node.Env {
		environ[e.Name] = true
	}
	texts := slices.Clone(node.Args)
	for _, e := range node.Env {
		texts = append(texts, e.Value)
	}
	for _, arg := range texts {
		for _, v := range regexp.MustCompile(`\$\((\w+)\)`).FindAllStringSubmatch(arg, -1) {
			if !environ[v[1]] {
				t.Errorf("%s: no variable %s", arg, v[1])
			}
		}
	}
	checkFlags(t, []string{"kvnode"}, node.Args)
	if slices.Contains(node.Args, "--insecure") || !slices.Contains(node.Args, "--acl") {
		t.Error("the nodes are open to everybody")
	}
	hook := node.Lifecycle.PreStop.Exec.Command
	checkFlags(t, []string{hook[0], "drain"}, hook[1:])
	grace := *m.set.Spec.Template.Spec.TerminationGracePeriodSeconds
	if !slices.Contains(hook, "--timeout=10s") || grace < 15 {
		t.Errorf("%d s for %v and the stop", grace, hook)
	}
}

// checkFlags looks the flags among args up in the help of a command.
func checkFlags(t *testing.T, command, args []string) {
	t.Helper()
	help, err := exec.Command(program(command[0]), append(command[1:], "--help")...).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(name, "--") && !regexp.MustCompile(`\s`+name+`\s`).Match(help) {
			t.Errorf("%s has no %s", command, name)
		}
	}
}

// Compose takes its file, by its own schema, and the settings in it are settings of kvnode.
func TestComposeTakesItsFile(t *testing.T) {
	file := "../packaging/container/compose.yaml"
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{WorkingDir: filepath.Dir(file),
		ConfigFiles: []types.ConfigFile{{Filename: file}}, Environment: types.Mapping{"TENURE_IMAGE": "tenure:1.2.3"}})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(project.Services))
	if !slices.Equal(names, []string{"kvnode-1", "kvnode-2", "kvnode-3"}) {
		t.Fatalf("services %v", names)
	}
	for name, s := range project.Services {
		id := s.Environment["KVNODE_ID"]
		if id == nil || name != "kvnode-"+*id || s.Hostname != name || !s.ReadOnly || s.Image != "tenure:1.2.3" {
			t.Errorf("%s: %+v", name, s)
		}
		var flags []string
		for variable := range s.Environment {
			if flag, ok := strings.CutPrefix(variable, "KVNODE_"); ok {
				flags = append(flags, "--"+strings.ToLower(strings.ReplaceAll(flag, "_", "-")))
			}
		}
		checkFlags(t, []string{"kvnode"}, flags)
		targets := map[string]bool{}
		for _, x := range s.Secrets {
			targets[path.Join("/run/secrets", path.Base(cmp.Or(x.Target, x.Source)))] = true
		}
		for _, variable := range []string{"KVNODE_TLS_CERT", "KVNODE_TLS_KEY", "KVNODE_TLS_CA", "TENURE_CACERT"} {
			if file := s.Environment[variable]; file == nil || !targets[*file] {
				t.Errorf("%s: %s is no secret of it", name, variable)
			}
		}
		checkFlags(t, []string{"kvctl", "master", "show"}, s.HealthCheck.Test[2:])
	}
}
