// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

// Known is the answer to a question that may be open. An open question is never answered as it would be convenient.
type Known int8

// Answers. The zero value is Unknown.
const (
	Unknown Known = iota
	No
	Yes
)

// Asked is what a pod is asked for. Each value identifies a setting, such as its hash. Equal values ask for the same.
type Asked struct {
	// Template is what only a new pod can have.
	Template string `json:"template"`
	// Image and Resources are those of memcached's container.
	Image     string `json:"image,omitempty"`
	Resources string `json:"resources,omitempty"`
	// Arguments are memcached's.
	Arguments string `json:"arguments,omitempty"`
	// Credentials name the memcached that cannot forget what was removed from a Secret, such as a CA. Another value restarts memcached.
	Credentials string `json:"credentials,omitempty"`
}

// Target is what the spec asks of every node.
type Target struct {
	Asked

	// Limit is the memory limit, and Use is what memcached may use with Arguments, both in bytes.
	Limit, Use int64
	// InPlace reports that images and resources change in living pods. Otherwise, they replace the pods.
	InPlace bool
}

// Presence is whether a node has a pod.
type Presence string

// Presences.
const (
	// Absent means that the StatefulSet's controller has to create the pod.
	Absent Presence = ""
	// Present means that the pod is neither terminating nor failed.
	Present Presence = "Present"
	// Leaving means that the pod is terminating or has failed. The StatefulSet's controller replaces it.
	Leaving Presence = "Leaving"
	// Lost means that the pod does not terminate because its cluster node is lost.
	Lost Presence = "Lost"
)

// Node is what was observed of one node: its pod, the kubelet's words about it, and the answer of its parent process.
type Node struct {
	// Name is the name of the node and of its pod.
	Name string
	Pod  Presence
	// Served reports that the node has been ready once. A node that never was, for example for lack of quota, is not missed.
	Served bool

	// Ready and CutOff are the kubelet's words. A pod that is cut off is not ready although its containers are: its cluster node has
	// lost contact, so a step would not reach it. Available reports that the pod has been ready for minReadySeconds.
	Ready, CutOff, Available bool
	// Started reports that memcached's container has run in this pod, and Stopped that it does not run now, according to the kubelet.
	Started, Stopped bool

	// Asked is what the pod was last asked for. Assigned reports that this pod has an entry in the
	// ConfigMap of arguments, so that only its parent can say whether they are in effect.
	Asked    Asked
	Assigned bool
	// ImageTaken, ResourcesTaken and ArgumentsTaken report whether the values in Asked are in effect. The first two are the kubelet's
	// words, and the third is the parent's. Arguments of the first start are always in effect.
	ImageTaken, ResourcesTaken, ArgumentsTaken Known
	// Limit is the memory limit in effect, and AskedLimit is that of Asked. Use is what memcached may use with the arguments that it
	// runs or was assigned, whichever is more. All are in bytes.
	Limit, AskedLimit, Use int64
	// Failed is what cannot take effect now, and Refused is what was taken back before, as the pod records it.
	Failed  Failure
	Refused Refusal

	// Slow is why the kubelet has not applied the resources yet, if it says so, or what may keep a new pod from coming.
	Slow string
	// Silent is why the parent did not answer, empty if it was not asked or has answered.
	Silent string
	// Serves is the parent's answer to whether memcached runs and has the items that it can have.
	Serves Known
	// PeersWhole reports whether another copy has all items of this node. It is Yes in a cache without copies. PeerWords say what is
	// missing if it is No.
	PeersWhole Known
	PeerWords  string
}

// Failure is what the kubelet or the parent says about a step that cannot take effect.
type Failure struct {
	// Action is the step, Nothing without a failure. For an absent pod, it is Replace: the API server refuses the pod.
	Action Action
	// Words are those of the kubelet or the parent.
	Words string
}

// Refusal is a Failure that was taken back. The pod records it, so that it survives the operator.
type Refusal struct {
	Failure
	// Value is the value of Asked that was refused.
	Value string
	// Tries is how often the value was refused. Due reports that the time for the next try has come.
	Tries int
	Due   bool
	// Forever reports that this pod can never have the value, so it must be replaced.
	Forever bool
}

// Action is a step of one node.
type Action string

// Actions, the gentlest first.
const (
	// Nothing is to be done.
	Nothing Action = ""
	// Ask asks the parents of the node's ordinal in every copy.
	Ask Action = "Ask"
	// Resize patches the resources of memcached's container.
	Resize Action = "Resize"
	// Assign writes the node's entry in the ConfigMap of arguments. The parent restarts memcached, unless the change needs no restart.
	Assign Action = "Assign"
	// SetImage patches the image of memcached's container, which the kubelet then restarts.
	SetImage Action = "SetImage"
	// GoBack returns to the value before a failure, and records the refusal in the pod. If nothing has failed, it removes a record
	// whose value is not asked for any more.
	GoBack Action = "GoBack"
	// Replace deletes or evicts the pod.
	Replace Action = "Replace"
	// ForceDelete deletes a lost pod without waiting for its kubelet.
	ForceDelete Action = "ForceDelete"
)

// Value returns the value that an action sets.
func (a Asked) Value(action Action) string {
	switch action {
	case Resize:
		return a.Resources
	case Assign:
		return a.Arguments + "/" + a.Credentials
	case SetImage:
		return a.Image
	default:
		return ""
	}
}

// refused reports whether the node has refused the value of an action.
func (n Node) refused(action Action, t Target) bool {
	return n.Refused.Action == action && n.Refused.Value == t.Value(action)
}

// wants reports whether an action would change what the pod is asked for.
func (n Node) wants(action Action, t Target) bool {
	differs := n.Asked.Value(action) != t.Value(action) || action == Assign && !n.Assigned && n.ArgumentsTaken == No
	return differs && (!n.refused(action, t) || n.Refused.Due)
}

// Replaces reports whether the pod must be replaced: only a new pod can be what the target asks for, or the pod has never run and cannot.
func (n Node) Replaces(t Target) bool {
	return n.Asked.Template != t.Template || !n.Started && n.Failed.Action != Nothing && n.Asked != t.Asked ||
		n.refused(Resize, t) && n.Refused.Forever ||
		!t.InPlace && (n.Asked.Image != t.Image || n.Asked.Resources != t.Resources ||
			n.ResourcesTaken == No && (n.Slow != "" || n.Failed.Action == Resize)) // it was asked in place before
}

// need returns the gentlest step towards the target, Nothing if there is none now.
func (n Node) need(t Target) Action {
	switch {
	case n.Pod == Lost:
		return ForceDelete
	case n.Pod != Present:
		return Nothing // the StatefulSet's controller is at work
	case n.Replaces(t):
		return Replace
	case !n.Started:
		return Nothing // it must run once, as its neighbours do
	case n.goesBack(t), n.obsolete(t):
		return GoBack
	case n.busy(t), n.Refused.Action != Nothing && !n.Refused.Due:
		return Nothing
	}
	order := []Action{Resize, Assign, SetImage}
	if t.Limit < n.Limit && t.Use <= n.AskedLimit {
		order = []Action{Assign, Resize, SetImage}
	}
	for _, action := range order {
		if n.wants(action, t) {
			return action
		}
	}
	return Nothing
}

// goesBack reports whether a value of the target has failed in a living pod.
func (n Node) goesBack(t Target) bool {
	return n.Failed.Action != Nothing && (t.InPlace || n.Failed.Action == Assign) && n.Asked.Value(n.Failed.Action) == t.Value(n.Failed.Action)
}

// obsolete reports whether the record of a refusal is about a value that is not asked for any more, or that has taken effect since.
func (n Node) obsolete(t Target) bool {
	action := n.Refused.Action
	return action != Nothing && (!n.refused(action, t) || n.Asked.Value(action) == t.Value(action) && n.settled() == Yes)
}

// busy reports whether a value of the target was asked for, but is not in effect.
func (n Node) busy(t Target) bool {
	return n.ImageTaken == No && n.Asked.Image == t.Image || n.ResourcesTaken == No && n.Asked.Resources == t.Resources ||
		n.Assigned && n.ArgumentsTaken == No && n.Asked.Value(Assign) == t.Value(Assign)
}

// settled reports whether everything that the pod was asked for is in effect.
func (n Node) settled() Known {
	arguments := n.ArgumentsTaken
	if !n.Assigned && arguments == Unknown {
		arguments = Yes
	}
	return both(both(n.ImageTaken, n.ResourcesTaken), arguments)
}

// away reports whether clients cannot use the node, according to the kubelet.
func (n Node) away() bool { return n.Pod != Present || !n.Ready || n.CutOff }

// missed reports whether the node counts against the budget: clients cannot use it, or will not be able to in a moment, or have only just
// been able to.
func (n Node) missed() bool {
	return (n.Served || n.Ready) && (n.away() || !n.Available || n.Serves == No) || n.Pod == Present && n.Started && n.settled() == No
}

// serves reports whether a step can cost the clients something. It is false only if the kubelet or the parent says that it cannot.
func (n Node) serves() bool { return n.Pod == Present && !n.Stopped && n.Serves != No }

// free reports whether an action costs the clients nothing, now or when it takes effect.
func (n Node) free(action Action) bool {
	return n.away() && !n.serves() && (n.Stopped || action == Replace)
}

// Updated reports whether the pod is what the target asks for.
func (n Node) Updated(t Target) bool {
	return n.Pod == Present && n.Asked == t.Asked && n.settled() == Yes && n.Refused.Action == Nothing
}

// Done reports whether the node is what the target asks for, and clients can use it.
func (n Node) Done(t Target) bool { return n.Updated(t) && n.Serves != No && n.Ready && n.Available }

// both returns No if one answer is No, otherwise Unknown if one is Unknown.
func both(a, b Known) Known {
	if a == No || b == No {
		return No
	}
	return min(a, b)
}
