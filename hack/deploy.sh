#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs and removes the manifests on standard input, on the cluster of KUBECONFIG:
#   hack/deploy.sh deploy         applies them, waits until the operator is ready, and says what to do next
#   hack/deploy.sh undeploy       deletes them except for the CRD, so that the caches stay
#   hack/deploy.sh undeploy-all   deletes them and every cache, after a confirmation
#   hack/deploy.sh uninstall      does the same as undeploy-all, but asks only if there are caches: Memcacheds or MemcachedProxies
# The Makefile renders the manifests and sets KUBECTL, IMG, IGNORE_NOT_FOUND and CONFIRM.
set -o errexit -o nounset -o pipefail

pods=app.kubernetes.io/name=memcached-operator,control-plane=controller-manager
# How long the operator may take to become ready, and how often its progress is reported, in seconds.
deadline=${DEPLOY_TIMEOUT:-120}
interval=5
# How many caches are listed by name.
most_names=20

kubectl() { command "${KUBECTL}" "$@"; }

# of_kind KIND... prints the manifests of these kinds. except_kind KIND... prints the others.
of_kind() { select_manifests 1 "$@"; }
except_kind() { select_manifests 0 "$@"; }
select_manifests() {
	awk -v listed="$1" -v kinds=" ${*:2} " '
		function finish() { if (text != "" && (index(kinds, " " kind " ") > 0) == listed) printf "---\n%s", text; text = "" }
		/^---$/ { finish(); next }
		/^kind: / { kind = $2 }
		{ text = text $0 "\n" }
		END { finish() }' <<<"${manifests}"
}

# counted NUMBER NOUN [PLURAL] prints the number and the noun, in the plural if needed.
counted() { if (($1 == 1)); then echo "1 $2"; else echo "$1 ${3:-$2s}"; fi; }
count_lines() { awk '/./ { n++ } END { print n + 0 }' <<<"$1"; }

# Looks for the caches that the operator serves. In memcacheds, each line is "NAMESPACE/NAME NODES". In proxies, each line is
# "NAMESPACE/NAME MemcachedProxy". The variable listed contains the lines of both, and the variable caches says how many there are.
list_caches() {
	local resources
	# kubectl get fails for a resource without a CRD, such as MemcachedProxies in earlier versions. So this function first asks which exist.
	if ! resources=$(kubectl api-resources --api-group=cache.example.com --output=name) && [[ -z "${resources}" ]]; then
		return 1
	fi
	memcacheds="" proxies=""
	if grep -qx memcacheds.cache.example.com <<<"${resources}"; then
		memcacheds=$(list memcacheds '{.status.replicas}')
	fi
	if grep -qx memcachedproxies.cache.example.com <<<"${resources}"; then
		proxies=$(list memcachedproxies MemcachedProxy)
	fi
	listed=$(printf '%s\n' "${memcacheds}" "${proxies}" | grep . || true)
	caches=$(counted "$(count_lines "${memcacheds}")" Memcached)
	caches+=" with $(counted "$(awk '{ n += $2 } END { print n + 0 }' <<<"${memcacheds}")" node)"
	[[ -z "${proxies}" ]] || caches+=", and $(counted "$(count_lines "${proxies}")" MemcachedProxy MemcachedProxies)"
}
list() {
	kubectl get "$1.cache.example.com" "${scope[@]}" --output \
		"jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} $2{\"\\n\"}{end}"
}

print_caches() {
	[[ -n "${listed}" ]] || return 0
	awk -v most="${most_names}" '
		NR > most { next }
		$2 == "MemcachedProxy" { printf "  %-40s %s\n", $1, $2; next }
		{ printf "  %-40s %d node%s\n", $1, $2, $2 == 1 ? "" : "s" }
		END { if (NR > most) print "  and " NR - most " more" }' <<<"${listed}"
}

# Prints the phase of each pod of the operator, and why a container does not run.
print_pods() {
	local waiting='{range .status.containerStatuses[*].state.waiting}, {.reason} {.message}{end}'
	kubectl get pods --namespace "${namespace}" --selector "${pods}" \
		--output "jsonpath={range .items[*]}{.metadata.name}: {.status.phase}${waiting}{\"\\n\"}{end}"
}

# Waits for the rollout in short rounds, so that the reason for a delay appears early.
wait_for_rollout() {
	local errors
	SECONDS=0
	until errors=$(of_kind Deployment | kubectl rollout status --filename - --timeout "${interval}s" 2>&1 >&3); do
		print_pods
		if [[ "${errors}" != *"timed out"* ]] || ((SECONDS >= deadline)); then
			echo "The operator is installed but not ready: ${errors#error: }" >&2
			echo "To find out why: kubectl describe pods --namespace ${namespace} --selector ${pods}" >&2
			return 1
		fi
	done 3>&1
}

# Fails with a clear message if there is no cluster. The message of kubectl apply would be about validation.
check_cluster() {
	local errors
	errors=$(kubectl version --request-timeout=20s 2>&1 >/dev/null) || {
		echo "No cluster answers ($(tail -n 1 <<<"${errors}")): set KUBECONFIG to one, or start one with make cluster-up." >&2
		exit 2
	}
}

# Fails before any write if Helm has installed the operator, because Helm and this script would own the same objects. If another
# operator runs in another namespace, the function only warns.
check_others() {
	local operator manager release others=""
	while read -r operator manager release; do
		if [[ ${manager} == Helm ]]; then
			echo "The release ${release} of Helm in the namespace ${operator%/*} has an operator already. Upgrade it:" >&2
			echo "  helm upgrade ${release} --namespace ${operator%/*} ..." >&2
			echo "Or remove it first, which keeps the CRD and every cache: helm uninstall ${release} --namespace ${operator%/*}" >&2
			echo "Nothing is written." >&2
			exit 2
		fi
		[[ -z ${operator} || ${operator%/*} == "${namespace}" ]] || others+="${others:+, }${operator}"
	done <<<"$(kubectl get deployments "${scope[@]}" --selector "${pods%%,*}" --output \
		'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.metadata.labels.app\.kubernetes\.io/managed-by} {.metadata.labels.app\.kubernetes\.io/instance}{"\n"}{end}')"
	[[ -z ${others} ]] || echo "Another operator runs: ${others}. Two that watch the same namespace report each event twice: see WATCH_NAMESPACE." >&2
}

# Fails before any write if one of the bindings in the manifests exists already, for an operator in another namespace.
check_bindings() {
	local bindings found other
	bindings=$(of_kind ClusterRoleBinding ValidatingAdmissionPolicyBinding)
	[[ -n ${bindings} ]] || return 0
	found=$(kubectl get --filename - --ignore-not-found --no-headers \
		--output 'custom-columns=:.subjects[*].namespace,:.spec.paramRef.namespace' <<<"${bindings}")
	other=$(tr -s ' ,' '\n' <<<"${found}" | grep -vxE "|<none>|${namespace}" | head -n 1 || true)
	[[ -n ${other} ]] || return 0
	echo "The operator in the namespace ${other} would lose its permissions or policies: it has bindings of the same names." >&2
	echo "Remove it first, which keeps the CRD and every cache: make undeploy DEPLOY_NAMESPACE=${other}" >&2
	echo "Nothing is written." >&2
	exit 2
}

deploy() {
	check_cluster
	check_others
	check_bindings
	kubectl apply --filename - <<<"${manifests}"
	wait_for_rollout
	list_caches
	echo
	echo "The operator runs in the namespace ${namespace} with the image ${IMG}. It manages ${caches}."
	print_caches
	echo "Next:"
	[[ -n "${memcacheds}" ]] || echo "  kubectl apply --filename config/samples/cache_v1alpha1_memcached.yaml${option}"
	echo "  kubectl get memcacheds --watch ${scope[*]}"
}

# remove_except KIND... deletes the manifests of all other kinds. It first deletes the operator and waits for its end, since without
# permissions the operator would only report errors. It deletes the namespace last: with the namespace, its objects disappear, and
# kubectl would no longer find them.
remove_except() {
	local namespaces status=0
	namespaces=$(of_kind Namespace)
	if [[ " $* " == *" Namespace "* ]]; then
		namespaces=""
	fi
	if [[ -n "$(of_kind Deployment)" ]]; then
		of_kind Deployment | delete --cascade=foreground || status=$?
	fi
	{ except_kind Deployment Namespace "$@" && echo "${namespaces}"; } | delete || status=$?
	return "${status}"
}
delete() { kubectl delete --ignore-not-found="${IGNORE_NOT_FOUND}" --filename - "$@"; }

undeploy() {
	local kept=(CustomResourceDefinition)
	check_bindings
	list_caches
	# Deleting a namespace deletes everything in it.
	if grep -q "^${namespace}/" <<<"${listed}"; then
		kept+=(Namespace)
	fi
	remove_except "${kept[@]}"
	echo
	echo "The operator is removed. The CRD and ${caches} stay."
	print_caches
	[[ ${#kept[@]} -eq 1 ]] || echo "The namespace ${namespace} stays because some of them are in it."
	[[ -z "${memcacheds}" ]] || echo "The nodes keep serving. Without the operator, a change of a Memcached has no effect."
	echo "Next:"
	echo "  make deploy          installs the operator again. It replaces no node."
	echo "  make undeploy-all    deletes the caches as well."
	echo "kubectl delete crd would delete every cache of all namespaces without a question."
}

# Without a terminal, only CONFIRM=yes confirms.
confirm() {
	local answer=${CONFIRM}
	if [[ -z "${answer}" && -t 1 ]]; then
		read -r -p "Type yes to delete all of it: " answer </dev/tty || true
	fi
	if [[ "${answer}" != yes ]]; then
		echo "Nothing is deleted. CONFIRM=yes confirms without a question." >&2
		return 2
	fi
}

# Prints how many manifests there are of each kind.
print_kinds() { awk '/^kind: / { n[$2]++ } END { for (kind in n) print "  " kind " (" n[kind] ")" }' <<<"${manifests}" | sort; }

delete_all() {
	check_bindings
	list_caches
	echo "In the cluster of the context $(kubectl config current-context 2>/dev/null || echo "(none)"), this deletes:"
	print_kinds
	echo "  ${caches}, with everything that they cache"
	print_caches
	[[ $1 == uninstall && -z "${listed}" ]] || confirm
	if [[ ${scope[0]} == --namespace ]]; then
		[[ -z "${proxies}" ]] || kubectl delete memcachedproxies.cache.example.com --all "${scope[@]}"
		[[ -z "${memcacheds}" ]] || kubectl delete memcacheds.cache.example.com --all "${scope[@]}"
	fi
	remove_except
	echo
	echo "Deleted: $(counted "$(grep -c '^kind: ' <<<"${manifests}")" object) and ${caches}."
}

manifests=$(cat)
namespace=$(of_kind Deployment | awk '/^  namespace: / { print $2; exit }')
# Manifests without a CRD belong to an operator that serves its own namespace only.
scope=(--all-namespaces) option=""
if [[ -z "$(of_kind CustomResourceDefinition)" ]]; then
	scope=(--namespace "${namespace}") option=" --namespace ${namespace}"
fi
case $1 in
deploy) deploy ;;
undeploy) undeploy ;;
undeploy-all) IGNORE_NOT_FOUND=true delete_all "$1" ;; # undeploy may have deleted some objects before
uninstall) delete_all "$1" ;;
*) echo "unknown command $1" >&2 && exit 2 ;;
esac
