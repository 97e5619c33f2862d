-- SPDX-FileCopyrightText: The Memcached Operator Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- A route for pools that are copies of each other, loaded by memcached beside its routelib. Slot i of one pool is the twin of slot i of
-- the others. Each command has the answer that a single memcached would give, also while the twin of a node is away or empty.

-- How much an answer says. More counts: a copy that had the key knows more than an empty one, and that more than one that is away.
local AWAY <const>, ERROR <const>, ABSENT <const>, REFUSED <const>, DONE <const> = 0, 1, 2, 3, 4

local absent = { [mcp.MCMC_CODE_NOT_FOUND] = true, [mcp.MCMC_CODE_NOT_STORED] = true, [mcp.MCMC_CODE_END] = true }

local function weight(answer)
    local code = answer:code()
    if answer:ok() then
        return absent[code] and ABSENT or DONE
    elseif code ~= mcp.MCMC_CODE_SERVER_ERROR then
        return REFUSED
    end
    return answer:raw_string() and ERROR or AWAY
end

-- missed counts a write for a copy that has not answered.
local function missed(copies, handle, says)
    if says <= ERROR then
        mcp.stat(copies.missed[handle], 1)
    end
end

-- all asks copies at once. It returns the answer that says the most, that of the first copy if several do. Those that have not answered
-- have missed a write if another has, or if the caller has decided that it holds.
local function all(rctx, copies, request, handles, decided)
    rctx:enqueue(request, handles)
    rctx:wait_cond(#handles, mcp.WAIT_ANY)
    local best, most = nil, -1
    for i = 1, #handles do
        local answer = rctx:result(handles[i])
        local says = weight(answer)
        if says > most then
            best, most = answer, says
        end
    end
    for i = 1, #handles do
        if decided or most >= ABSENT then
            missed(copies, handles[i], weight((rctx:result(handles[i]))))
        end
    end
    return best, most
end

-- write is for what a copy can do without knowing of the others.
local function write(rctx, copies, request)
    return all(rctx, copies, request, copies.ask)
end

-- read asks one copy after the other until one has the key. If all are away, the proxy's own storage answers, which is empty.
local function read(rctx, copies, request)
    local miss
    for i = 1, #copies.ask do
        local answer = rctx:enqueue_and_wait(request, copies.ask[i])
        if answer:hit() then
            if i > 1 then
                mcp.stat(copies.found[i], 1)
            end
            return answer
        elseif answer:ok() then
            miss = miss or answer
        end
    end
    return miss or rctx:enqueue_and_wait(request, copies.internal)
end

-- forget removes the key of a request from copies, which then miss it instead of having another value.
local function forget(rctx, copies, request, handles)
    if #handles == 0 then
        return
    end
    local binary = request:has_flag("b") and " b" or ""
    all(rctx, copies, mcp.request("md " .. request:key() .. binary .. "\r\n"), handles, true)
end

-- decide asks one copy after the other until one has the key, which decides. The others forget it: their CAS values differ.
local function decide(rctx, copies, request)
    local best, most, decider = nil, -1, 0
    for i = 1, #copies.ask do
        local answer = rctx:enqueue_and_wait(request, copies.ask[i])
        local says = weight(answer)
        if says > most then
            best, most, decider = answer, says, i
        end
        if most == DONE then
            break
        end
    end
    if most == DONE and best:code() ~= mcp.MCMC_CODE_EXISTS then
        local others = table.move(copies.again, 1, #copies.again, 1, {})
        table.remove(others, decider)
        forget(rctx, copies, request, others)
    end
    return best
end

-- add asks one copy after the other, so that of several clients one succeeds. A copy that has the key prevails over empty ones.
local function add(rctx, copies, request)
    local best, most, away, stored = nil, -1, {}, {}
    for i = 1, #copies.ask do
        local answer = rctx:enqueue_and_wait(request, copies.ask[i])
        local says = weight(answer)
        if says == ABSENT or says == REFUSED then
            forget(rctx, copies, request, stored)
            return answer
        end
        local list = says == DONE and stored or away
        list[#list + 1] = copies.again[i]
        if says > most then
            best, most = answer, says
        end
    end
    if most == DONE then
        for i = 1, #away do
            missed(copies, away[i], AWAY)
        end
    end
    return best
end

-- plain returns a meta command without the flag that makes an item where there is none: no empty copy must do that for a full one.
local function plain(request)
    local name, flags = request:raw_line():match("^(%S+ +%S+)(.*)$")
    flags = flags:gsub(" +N%S*", "")
    return mcp.request(name .. flags .. "\r\n", request)
end

-- change asks all copies at once, for an item where there is none only if no copy has one.
local function change(rctx, copies, request)
    if not request:has_flag("N") then
        return all(rctx, copies, request, copies.ask)
    end
    local answer, says = all(rctx, copies, plain(request), copies.ask)
    if says ~= ABSENT then
        return answer, says
    end
    return all(rctx, copies, request, copies.again)
end

local function meta_get(rctx, copies, request)
    if request:has_flag("T") then
        local answer, says = change(rctx, copies, request)
        return says > ERROR and answer or rctx:enqueue_and_wait(plain(request), copies.internal)
    elseif not request:has_flag("N") then
        return read(rctx, copies, request)
    end
    local answer = read(rctx, copies, plain(request))
    if answer:hit() then
        return answer
    end
    local made, says = all(rctx, copies, request, copies.again)
    return says > ERROR and made or answer
end

local function meta_set(rctx, copies, request)
    local _, mode = request:flag_token("M")
    mode = mode and mode:sub(1, 1)
    if request:has_flag("C") then
        return decide(rctx, copies, request)
    elseif mode == "E" then
        return add(rctx, copies, request)
    elseif mode == "A" or mode == "P" then
        return change(rctx, copies, request)
    end
    return write(rctx, copies, request)
end

local function meta_arithmetic(rctx, copies, request)
    if request:has_flag("C") then
        return decide(rctx, copies, request)
    end
    return change(rctx, copies, request)
end

local function meta_delete(rctx, copies, request)
    if request:has_flag("C") then
        return decide(rctx, copies, request)
    end
    return write(rctx, copies, request)
end

local function meta_noop()
    return "MN\r\n"
end

local by_command = {
    [mcp.CMD_GET] = read, [mcp.CMD_GETS] = read, [mcp.CMD_ME] = read, [mcp.CMD_ADD] = add, [mcp.CMD_CAS] = decide,
    [mcp.CMD_MG] = meta_get, [mcp.CMD_MS] = meta_set, [mcp.CMD_MA] = meta_arithmetic, [mcp.CMD_MD] = meta_delete,
    [mcp.CMD_MN] = meta_noop,
}

register_route_handlers({ "copies" })

-- route_copies{ children = { POOL, POOL... } }
function route_copies_conf(t, ctx)
    t.missed, t.found = {}, {}
    for i = 1, #t.children do
        t.missed[i] = ctx:get_stats_id("missed_writes_" .. i)
        t.found[i] = i > 1 and ctx:get_stats_id("found_in_copy_" .. i)
    end
    t.child_internal = "internal"
    return t
end

function route_copies_start(t, ctx, fgen)
    local copies = { ask = {}, again = {}, missed = {}, found = t.found }
    for i, pool in ipairs(t.children) do
        -- A handle serves once in a request.
        for _, handles in ipairs({ copies.ask, copies.again }) do
            handles[i] = fgen:new_handle(pool)
            copies.missed[handles[i]] = t.missed[i]
        end
    end
    copies.internal = fgen:new_handle(t.child_internal)
    local function route(rctx)
        return function(request)
            return ((by_command[request:command()] or write)(rctx, copies, request))
        end
    end
    fgen:ready({ n = ctx:label(), f = route })
end
